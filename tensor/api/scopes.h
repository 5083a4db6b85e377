// Scopes that change, on one thread and while they live, what operations do.
#pragma once

namespace doorbell {

// Within its life, on its thread, dropout drops and batch norm learns its statistics.
class TrainingScope {
 public:
  explicit TrainingScope(bool on = true);
  ~TrainingScope();
  TrainingScope(const TrainingScope&) = delete;
  TrainingScope& operator=(const TrainingScope&) = delete;
  static bool active();

 private:
  bool previous_;
};

// Within its life, on its thread, nothing that is computed remembers how for backward().
class NoGradScope {
 public:
  NoGradScope();
  ~NoGradScope();
  NoGradScope(const NoGradScope&) = delete;
  NoGradScope& operator=(const NoGradScope&) = delete;
  static bool active();

 private:
  bool previous_;
};

}  // namespace doorbell
