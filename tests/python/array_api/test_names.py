"""Names and signatures of the standard, 2024.12, without complex numbers: what may be given by place or by name."""
import inspect

import pytest

from doorbell import Tensor, array_api as xp

SIGNATURES = """
arange(start, /, stop=None, step=1, *, dtype=None, device=None)
asarray(obj, /, *, dtype=None, device=None, copy=None); empty(shape, *, dtype=None, device=None)
empty_like(x, /, *, dtype=None, device=None); eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None)
from_dlpack(x, /, *, device=None, copy=None); full(shape, fill_value, *, dtype=None, device=None)
full_like(x, /, fill_value, *, dtype=None, device=None); meshgrid(*arrays, indexing='xy')
linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True); ones(shape, *, dtype=None, device=None)
ones_like(x, /, *, dtype=None, device=None); tril(x, /, *, k=0); triu(x, /, *, k=0)
zeros(shape, *, dtype=None, device=None); zeros_like(x, /, *, dtype=None, device=None)
astype(x, dtype, /, *, copy=True, device=None); can_cast(from_, to, /); finfo(type, /); iinfo(type, /)
isdtype(dtype, kind); result_type(*arrays_and_dtypes); __array_namespace_info__()
abs(x, /); acos(x, /); acosh(x, /); add(x1, x2, /); asin(x, /); asinh(x, /); atan(x, /); atan2(x1, x2, /)
atanh(x, /); bitwise_and(x1, x2, /); bitwise_left_shift(x1, x2, /); bitwise_invert(x, /); bitwise_or(x1, x2, /)
bitwise_right_shift(x1, x2, /); bitwise_xor(x1, x2, /); ceil(x, /); clip(x, /, min=None, max=None); conj(x, /)
copysign(x1, x2, /); cos(x, /); cosh(x, /); divide(x1, x2, /); equal(x1, x2, /); exp(x, /); expm1(x, /); floor(x, /)
floor_divide(x1, x2, /); greater(x1, x2, /); greater_equal(x1, x2, /); hypot(x1, x2, /); isfinite(x, /); isinf(x, /)
isnan(x, /); less(x1, x2, /); less_equal(x1, x2, /); log(x, /); log1p(x, /); log2(x, /); log10(x, /)
logaddexp(x1, x2, /); logical_and(x1, x2, /); logical_not(x, /); logical_or(x1, x2, /); logical_xor(x1, x2, /)
maximum(x1, x2, /); minimum(x1, x2, /); multiply(x1, x2, /); negative(x, /); nextafter(x1, x2, /)
not_equal(x1, x2, /); positive(x, /); pow(x1, x2, /); real(x, /); reciprocal(x, /); remainder(x1, x2, /); round(x, /)
sign(x, /); signbit(x, /); sin(x, /); sinh(x, /); square(x, /); sqrt(x, /); subtract(x1, x2, /); tan(x, /)
tanh(x, /); trunc(x, /); take(x, indices, /, *, axis=None); take_along_axis(x, indices, /, *, axis=-1)
matmul(x1, x2, /); matrix_transpose(x, /); tensordot(x1, x2, /, *, axes=2); vecdot(x1, x2, /, *, axis=-1)
broadcast_arrays(*arrays); broadcast_to(x, /, shape); concat(arrays, /, *, axis=0); expand_dims(x, /, axis)
flip(x, /, *, axis=None); moveaxis(x, source, destination, /); permute_dims(x, /, axes)
repeat(x, repeats, /, *, axis=None); reshape(x, /, shape, *, copy=None); roll(x, /, shift, *, axis=None)
squeeze(x, /, axis); stack(arrays, /, *, axis=0); tile(x, repetitions, /); unstack(x, /, *, axis=0)
argmax(x, /, *, axis=None, keepdims=False); argmin(x, /, *, axis=None, keepdims=False)
count_nonzero(x, /, *, axis=None, keepdims=False); nonzero(x, /); where(condition, x1, x2, /)
searchsorted(x1, x2, /, *, side='left', sorter=None); unique_all(x, /); unique_counts(x, /); unique_inverse(x, /)
unique_values(x, /); argsort(x, /, *, axis=-1, descending=False, stable=True)
sort(x, /, *, axis=-1, descending=False, stable=True)
cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False)
cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False); max(x, /, *, axis=None, keepdims=False)
mean(x, /, *, axis=None, keepdims=False); min(x, /, *, axis=None, keepdims=False)
prod(x, /, *, axis=None, dtype=None, keepdims=False); std(x, /, *, axis=None, correction=0.0, keepdims=False)
sum(x, /, *, axis=None, dtype=None, keepdims=False); var(x, /, *, axis=None, correction=0.0, keepdims=False)
all(x, /, *, axis=None, keepdims=False); any(x, /, *, axis=None, keepdims=False)
diff(x, /, *, axis=-1, n=1, prepend=None, append=None)
"""
METHODS = """
__abs__ __add__ __and__ __array_namespace__ __bool__ __complex__ __dlpack__ __dlpack_device__ __eq__ __float__
__floordiv__ __ge__ __getitem__ __gt__ __index__ __int__ __invert__ __le__ __lshift__ __lt__ __matmul__ __mod__ __mul__
__ne__ __neg__ __or__ __pos__ __pow__ __rshift__ __setitem__ __sub__ __truediv__ __xor__ to_device
__radd__ __rsub__ __rmul__ __rtruediv__ __rfloordiv__ __rmod__ __rpow__ __rmatmul__ __rand__ __ror__ __rxor__
__rlshift__ __rrshift__ __iadd__ __isub__ __imul__ __itruediv__ __ifloordiv__ __imod__ __ipow__ __iand__ __ior__
__ixor__ __ilshift__ __irshift__ dtype device mT ndim shape size T
"""


def parsed(text):
    """The function of a signature that holds default values as Python writes them."""
    space = {}
    exec(f"def {text}: pass", space)
    return next(value for name, value in space.items() if name != "__builtins__")


@pytest.mark.parametrize("text", [part.strip() for part in SIGNATURES.replace("\n", ";").split(";") if part.strip()])
def test_signatures(text):
    name = text[:text.index("(")]
    given = list(inspect.signature(getattr(xp, name)).parameters.values())
    for place, wanted in enumerate(inspect.signature(parsed(text)).parameters.values()):
        if wanted.kind == wanted.KEYWORD_ONLY:
            own = next(one for one in given if one.name == wanted.name)
            assert own.kind in (wanted.kind, wanted.POSITIONAL_OR_KEYWORD)
        else:
            own = given[place]
            assert own.kind == wanted.kind or wanted.kind == wanted.POSITIONAL_ONLY
            assert own.name == wanted.name or wanted.kind in (wanted.POSITIONAL_ONLY, wanted.VAR_POSITIONAL)
        if wanted.default not in (wanted.empty, None):
            assert own.default == wanted.default


@pytest.mark.parametrize("name", METHODS.split())
def test_methods(name):
    assert hasattr(Tensor, name)


@pytest.mark.parametrize("name, value", [("e", 2.718281828459045), ("pi", 3.141592653589793), ("inf", float("inf"))])
def test_constants(name, value):
    assert getattr(xp, name) == value


def test_constants_that_equal_nothing():
    assert xp.nan != xp.nan and xp.newaxis is None


def test_the_namespace_of_a_tensor():
    x = Tensor([1.0])
    assert x.__array_namespace__() is xp and x.__array_namespace__(api_version="2024.12") is xp
    assert xp.__array_api_version__ == "2024.12"
    with pytest.raises(ValueError, match="2030.12"):
        x.__array_namespace__(api_version="2030.12")


def test_what_the_namespace_tells():
    info = xp.__array_namespace_info__()
    told = info.capabilities()
    assert told["boolean indexing"] is told["data-dependent shapes"] is True and told["max dimensions"] == 16
    assert info.default_device() in info.devices()
    assert info.default_dtypes() == {"real floating": xp.float32, "integral": xp.int32, "indexing": xp.int32}
    assert set(info.dtypes(kind="unsigned integer")) == {"uint8", "uint16", "uint32", "uint64"}
    assert set(info.dtypes(kind=("bool", "real floating"))) == {"bool", "float32", "float64"}
    assert len(info.dtypes()) == 11 and info.dtypes(kind="complex floating") == {}
    with pytest.raises(ValueError, match="'real'"):
        info.dtypes(kind="real")
