"""All types of elements, by tinygrad's and PyTorch's names.

>>> dtypes.half, dtypes.long
(dtypes.float16, dtypes.int64)
"""
import builtins

from doorbell._doorbell import DType

bool = DType("bool")
int8 = DType("int8")
uint8 = DType("uint8")
int16 = DType("int16")
uint16 = DType("uint16")
int32 = DType("int32")
uint32 = DType("uint32")
int64 = DType("int64")
uint64 = DType("uint64")
float16 = DType("float16")
bfloat16 = DType("bfloat16")
float32 = DType("float32")
float64 = DType("float64")
float8_e4m3fn = DType("float8_e4m3fn")
float8_e5m2 = DType("float8_e5m2")
float8_e4m3fnuz = DType("float8_e4m3fnuz")
float8_e5m2fnuz = DType("float8_e5m2fnuz")

# Under other names.
bool_ = bool
fp8e4m3 = float8_e4m3fn
fp8e5m2 = float8_e5m2
fp8e4m3fnuz = float8_e4m3fnuz
fp8e5m2fnuz = float8_e5m2fnuz
half = float16
float = float32
double = float64
char = int8
short = int16
int = int32
long = int64
uchar = uint8
ushort = uint16
uint = uint32
ulong = uint64
default_float = float32
default_int = int32

floats = (float8_e4m3fn, float8_e5m2, float8_e4m3fnuz, float8_e5m2fnuz, float16, bfloat16, float32, float64)
uints = (uint8, uint16, uint32, uint64)
sints = (int8, int16, int32, int64)
ints = uints + sints


def is_float(dtype: DType) -> builtins.bool:
    """Whether its values have fractions."""
    return dtype in floats


def is_int(dtype: DType) -> builtins.bool:
    """Whether its values are integers; bool is not one."""
    return dtype in ints


def is_unsigned(dtype: DType) -> builtins.bool:
    """Whether its values are integers that are never negative."""
    return dtype in uints
