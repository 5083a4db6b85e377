// Elements of SVG 1.1, one a line.
#include "tools/measure/svg.h"

#include <fmt/format.h>

namespace doorbell::tools {
namespace {

std::string escaped(std::string_view words) {
  std::string text;
  for (const char c : words) {
    switch (c) {
      case '&': text += "&amp;"; break;
      case '<': text += "&lt;"; break;
      case '>': text += "&gt;"; break;
      case '"': text += "&quot;"; break;
      default:
        if (static_cast<unsigned char>(c) >= 0x20) text += c;  // XML allows no others
    }
  }
  return text;
}

std::string closed(std::string_view name, std::string_view hint) {
  if (hint.empty()) return "/>\n";
  return fmt::format("><title>{}</title></{}>\n", escaped(hint), name);
}

}  // namespace

Svg::Svg(f64 width, f64 height, std::string_view title) {
  body_ = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"DejaVu Sans, Helvetica, Arial, sans-serif\">\n"
      "<title>{2}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
      width, height, escaped(title));
}

void Svg::line(f64 x1, f64 y1, f64 x2, f64 y2, std::string_view colour, f64 width) {
  body_ += fmt::format(
      "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" "
      "stroke-width=\"{:g}\"/>\n",
      x1, y1, x2, y2, colour, width);
}

void Svg::box(f64 x, f64 y, f64 width, f64 height, std::string_view colour, f64 opacity,
              std::string_view hint) {
  body_ += fmt::format(
      "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\" "
      "fill-opacity=\"{:.2f}\"{}",
      x, y, width, height, colour, opacity, closed("rect", hint));
}

void Svg::dot(f64 x, f64 y, f64 radius, std::string_view colour, std::string_view hint) {
  body_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" fill=\"{}\"{}", x, y,
                       radius, colour, closed("circle", hint));
}

void Svg::text(f64 x, f64 y, std::string_view words, Align align, f64 size, std::string_view colour,
               bool is_bold) {
  constexpr const char* kAnchors[] = {"start", "middle", "end"};
  body_ += fmt::format(
      "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" font-size=\"{:g}\" fill=\"{}\"{}>{}"
      "</text>\n",
      x, y, kAnchors[static_cast<int>(align)], size, colour, is_bold ? " font-weight=\"bold\"" : "",
      escaped(words));
}

}  // namespace doorbell::tools
