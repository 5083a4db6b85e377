// Svg: a picture as text, made of the few shapes that a chart needs.
#pragma once

#include <string>
#include <string_view>

#include "base/util/types.h"

namespace doorbell::tools {

class Svg {
 public:
  enum class Align { Begin, Middle, End };

  // In pixels, on white.
  Svg(f64 width, f64 height, std::string_view title);

  void line(f64 x1, f64 y1, f64 x2, f64 y2, std::string_view colour, f64 width = 1);
  // `hint` is shown while the pointer is over the shape; may be empty.
  void box(f64 x, f64 y, f64 width, f64 height, std::string_view colour, f64 opacity = 1,
           std::string_view hint = {});
  void dot(f64 x, f64 y, f64 radius, std::string_view colour, std::string_view hint = {});
  void text(f64 x, f64 y, std::string_view words, Align align = Align::Begin, f64 size = 12,
            std::string_view colour = "#222222", bool is_bold = false);

  // The whole document.
  std::string str() const { return body_ + "</svg>\n"; }

 private:
  std::string body_;
};

}  // namespace doorbell::tools
