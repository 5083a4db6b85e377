// Tensors of files: safetensors, what torch.save wrote, archives, the data sets. For walking models
// see doorbell/nn/state.py.
#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>

#include "python/binding/create.h"
#include "python/binding/module.h"
#include "tensor/io/files.h"
#include "tensor/io/idx.h"
#include "tensor/io/safetensors.h"

namespace doorbell::python {

namespace {

// Paths may be pathlib objects.
std::string path_of(nb::handle path) {
  nb::object text = nb::module_::import_("os").attr("fspath")(path);
  return nb::cast<std::string>(text);
}

nb::dict dict_of(const nn::NamedTensors& tensors) {
  nb::dict dict;
  for (const auto& [name, tensor] : tensors) dict[nb::str(name.c_str())] = tensor;
  return dict;
}

// Tensors by name; PyTorch's tensors and arrays are copied.
nn::NamedTensors tensors_of_dict(const nb::dict& dict) {
  nn::NamedTensors tensors;
  for (auto [key, value] : dict) {
    if (!PyUnicode_Check(key.ptr()))
      throw nb::type_error(fmt::format("key {} of a dict of tensors is {}, expected a text",
                                       nb::repr(key).c_str(), nb::repr(key.type()).c_str())
                               .c_str());
    const std::string name = nb::cast<std::string>(key);
    if (is_tensor(value))
      tensors.emplace_back(name, as_tensor(value));
    else if (is_array(value))
      tensors.emplace_back(name, make_tensor(value, {}));
    else
      throw nb::type_error(
          fmt::format("{} is {}, expected a tensor", name, nb::repr(value.type()).c_str()).c_str());
  }
  return tensors;
}

nb::list list_of(const std::vector<std::string>& names) {
  nb::list list;
  for (const std::string& name : names) list.append(name);
  return list;
}

template <class Read>
auto without_lock(Read read) {
  Unlocked unlocked;
  return read();
}

using Reader = nn::NamedTensors (*)(const std::string&, const std::string&, os::Files&);

void define_readers(nb::module_& module) {
  struct Named {
    const char *name, *signature, *text;
    Reader read;
  };
  static constexpr Named kReaders[] = {
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

nb::object object_of(const io::TorchValue& value, const std::string& device) {
  using Kind = io::TorchValue::Kind;
  switch (value.kind) {
    case Kind::None: return nb::none();
    case Kind::Bool: return nb::cast(value.integer != 0);
    case Kind::Int: return nb::cast(value.integer);
    case Kind::Float: return nb::cast(value.real);
    case Kind::Text: return nb::cast(value.text);
    case Kind::Tensor:
      return nb::cast(Tensor::from_bytes(std::as_bytes(std::span(value.tensor.bytes)),
                                         value.tensor.dtype, value.tensor.shape,
                                         {.device = device}));
    case Kind::Dict: {
      nb::dict dict;
      for (usize i = 0; i + 1 < value.items.size(); i += 2)
        dict[object_of(value.items[i], device)] = object_of(value.items[i + 1], device);
      return dict;
    }
    default: break;
  }
  nb::list list;
  for (const io::TorchValue& item : value.items) list.append(object_of(item, device));
  return value.kind == Kind::Tuple ? nb::object(nb::tuple(list)) : nb::object(list);
}

void define_torch_load(nb::module_& module) {
  module.def(
      "torch_load",
      [](nb::handle given, const DevicesArg& device, bool nested) -> nb::object {
        const std::string path = path_of(given), place = device.joined();
        if (!nested) return dict_of(without_lock([&] { return io::torch_load(path, place); }));
        return object_of(without_lock([&] { return io::torch_load_value(path); }), place);
      },
      nb::arg("path"), nb::arg("device").none() = nb::none(), nb::arg("nested") = false,
      nb::sig(
          "def torch_load(path: str | os.PathLike[str], device: str | None = None, nested: bool "
          "= False) -> dict[str, typing.Any]"),
      "The tensors of a file that torch.save wrote, by name, without PyTorch and without running "
      "anything in it. nested: what was saved as it was, with the dicts, lists and numbers around "
      "the tensors, such as the state of an optimizer.");
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
      "The tensors of a safetensors file, by name, as copies; on the device \"DISK\" they stay in "
      "the file and are read where they are copied.");
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
  define_torch_load(module);
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
        const nn::LoadResult result =
            without_lock([&] { return nn::load_into(places, values, {.strict = strict}); });
        return nb::make_tuple(list_of(result.missing_keys), list_of(result.unexpected_keys));
      },
      nb::arg("into"), nb::arg("from_"), nb::arg("strict"),
      nb::sig("def _load_into(into: dict[str, Tensor], from_: dict[str, typing.Any], strict: "
              "bool) -> tuple[list[str], list[str]]"));
  module.def(
      "_parameters_among",
      [](const nb::dict& state) { return nn::parameters_among(tensors_of_dict(state)); },
      nb::arg("state"), nb::sig("def _parameters_among(state: dict[str, Tensor]) -> list[Tensor]"));
}

}  // namespace doorbell::python
