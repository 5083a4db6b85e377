// Tensors of files: safetensors, what torch.save wrote, archives, the data sets. Walking models is
// doorbell/nn/state.py's.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>

#include "python/binding/module.h"
#include "tensor/io/files.h"
#include "tensor/io/idx.h"
#include "tensor/io/safetensors.h"

namespace doorbell::python {

namespace {

// Paths may be pathlib's.
std::string path_of(nb::handle path) {
  nb::object text = nb::module_::import_("os").attr("fspath")(path);
  return nb::cast<std::string>(text);
}

nb::dict dict_of(const nn::NamedTensors& tensors) {
  nb::dict dict;
  for (const auto& [name, tensor] : tensors) dict[nb::str(name.c_str())] = tensor;
  return dict;
}

nn::NamedTensors tensors_of_dict(const nb::dict& dict) {
  nn::NamedTensors tensors;
  for (auto [name, tensor] : dict) {
    if (!is_tensor(tensor)) throw nb::type_error("a dict of tensors was expected");
    tensors.emplace_back(nb::cast<std::string>(name), as_tensor(tensor));
  }
  return tensors;
}

template <class Read>
auto without_lock(Read read) {
  nb::gil_scoped_release unlocked;
  return read();
}

using Reader = nn::NamedTensors (*)(const std::string&, const std::string&, os::Files&);

void define_readers(nb::module_& module) {
  struct Named {
    const char *name, *signature, *text;
    Reader read;
  };
  static constexpr Named kReaders[] = {
      {"torch_load",
       "def torch_load(path: str | os.PathLike[str], device: str | None = None) -> dict[str, "
       "Tensor]",
       "The tensors of a file that torch.save wrote, by name, without PyTorch and without running "
       "anything in it.",
       &io::torch_load},
      {"zip_extract",
       "def zip_extract(path: str | os.PathLike[str], device: str | None = None) -> dict[str, "
       "Tensor]",
       "The files inside a zip archive, as bytes.", &io::zip_extract},
      {"tar_extract",
       "def tar_extract(path: str | os.PathLike[str], device: str | None = None) -> dict[str, "
       "Tensor]",
       "The files inside a tar archive, plain or packed by gzip, bzip2 or xz, as bytes.",
       &io::tar_extract},
  };
  for (const Named& one : kReaders)
    module.def(
        one.name,
        [read = one.read](nb::handle given, const DevicesArg& device) {
          const std::string path = path_of(given), place = device.joined();
          return dict_of(without_lock([&] { return read(path, place, os::host_files()); }));
        },
        nb::arg("path"), nb::arg("device").none() = nb::none(), nb::sig(one.signature), one.text);
}

void define_safetensors(nb::module_& module) {
  module.def(
      "safe_load",
      [](nb::handle given, const DevicesArg& device) {
        const std::string path = path_of(given), place = device.joined();
        return dict_of(without_lock([&] { return io::load_safetensors(path, place).tensors; }));
      },
      nb::arg("path"), nb::arg("device").none() = nb::none(),
      nb::sig("def safe_load(path: str | os.PathLike[str], device: str | None = None) -> "
              "dict[str, Tensor]"),
      "The tensors of a safetensors file, by name, as copies.");
  module.def(
      "safe_save",
      [](const nb::dict& tensors, nb::handle given,
         const std::map<std::string, std::string>& metadata) {
        const std::string path = path_of(given);
        const nn::NamedTensors named = tensors_of_dict(tensors);
        without_lock([&] { io::save_safetensors(path, named, metadata); });
      },
      nb::arg("tensors"), nb::arg("path"),
      nb::arg("metadata") = std::map<std::string, std::string>(),
      nb::sig("def safe_save(tensors: dict[str, Tensor], path: str | os.PathLike[str], "
              "metadata: dict[str, str] = {}) -> None"),
      "Writes tensors by name to a safetensors file, which it replaces in one step.");
  module.def(
      "safe_load_metadata",
      [](nb::handle path) { return io::load_safetensors_header(path_of(path)).metadata; },
      nb::arg("path"),
      nb::sig("def safe_load_metadata(path: str | os.PathLike[str]) -> dict[str, str]"),
      "What a safetensors file says of itself; its tensors stay on the disk.");
}

}  // namespace

void define_files(nb::module_& module) {
  define_readers(module);
  define_safetensors(module);
  module.def(
      "load_idx",
      [](nb::handle given, const DevicesArg& device) {
        const std::string path = path_of(given), place = device.joined();
        return without_lock([&] { return io::load_idx(path, place); });
      },
      nb::arg("path"), nb::arg("device").none() = nb::none(),
      nb::sig("def load_idx(path: str | os.PathLike[str], device: str | None = None) -> "
              "Tensor"),
      "The array of an IDX file, plain or packed by gzip.");
  module.def(
      "_load_mnist",
      [](nb::handle given, const DevicesArg& device) {
        const std::string folder = path_of(given), place = device.joined();
        const io::Mnist all = without_lock([&] { return io::load_mnist(folder, place); });
        return nb::make_tuple(all.train_images, all.train_labels, all.test_images, all.test_labels);
      },
      nb::arg("folder"), nb::arg("device").none(),
      nb::sig("def _load_mnist(folder: str | os.PathLike[str], device: str | None) -> "
              "tuple[Tensor, Tensor, Tensor, Tensor]"));
  module.def(
      "_load_cifar",
      [](nb::handle given, const DevicesArg& device) {
        const std::string path = path_of(given), place = device.joined();
        const io::Cifar all = without_lock([&] { return io::load_cifar(path, place); });
        return nb::make_tuple(all.train_images, all.train_labels, all.test_images, all.test_labels);
      },
      nb::arg("path"), nb::arg("device").none(),
      nb::sig("def _load_cifar(path: str | os.PathLike[str], device: str | None) -> "
              "tuple[Tensor, Tensor, Tensor, Tensor]"));
  module.def(
      "_load_into",
      [](const nb::dict& into, const nb::dict& from, bool strict) {
        const nn::NamedTensors places = tensors_of_dict(into), values = tensors_of_dict(from);
        without_lock([&] { nn::load_into(places, values, {.strict = strict}); });
      },
      nb::arg("into"), nb::arg("from_"), nb::arg("strict"),
      nb::sig("def _load_into(into: dict[str, Tensor], from_: dict[str, Tensor], strict: "
              "bool) -> None"));
}

}  // namespace doorbell::python
