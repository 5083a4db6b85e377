// The table of instructions. Division by zero and other results that PTX leaves open are avoided
// by the text around them. Not here are those that become F2IP (to u8), I2I.SAT (of s32) or PLOP3
// of signs (.sat.s32), which the interpreter of machine code lacks.
#include "tests/emulator/nv/ptx/cases.h"

#include <fmt/format.h>

namespace doorbell::ptx {

namespace {

using Texts = std::vector<std::string>;

void append(std::vector<Case>& cases, std::string_view type, const Texts& texts,
            Tolerance tolerance = {}, u32 first_chip = 86) {
  for (const std::string& text : texts) {
    cases.push_back({type, text, tolerance, first_chip});
    // "Clamps the result to 0 if negative" does not say whether minus zero is.
    cases.back().tolerance.any_zero = text.find(".relu") != std::string::npos;
  }
}

// Of 64 and 16 bits.
void append_other_integers(std::vector<Case>& cases) {
  append(cases, "b64",
         {"add.s64 %d0, %da, %db;",
          "sub.s64 %d0, %da, %db;",
          "mul.lo.s64 %d0, %da, %db;",
          "mul.hi.s64 %d0, %da, %db;",
          "mul.hi.u64 %d0, %da, %db;",
          "mul.wide.s32 %d0, %ra, %rb;",
          "mul.wide.u32 %d0, %ra, %rb;",
          "mad.wide.s32 %d0, %ra, %rb, %dc;",
          "mad.wide.u32 %d0, %ra, %rb, %dc;",
          "mad.lo.s64 %d0, %da, %db, %dc;",
          "mad.hi.u64 %d0, %da, %db, %dc;",
          "sad.s64 %d0, %da, %db, %dc;",
          "sad.u64 %d0, %da, %db, %dc;",
          "abs.s64 %d0, %da;",
          "neg.s64 %d0, %da;",
          "min.s64 %d0, %da, %db;",
          "max.u64 %d0, %da, %db;",
          "or.b64 %u0, %db, 1; div.u64 %d0, %da, %u0;",
          "or.b64 %u0, %db, 1; rem.u64 %d0, %da, %u0;",
          "or.b64 %u0, %db, 2; div.s64 %d0, %da, %u0;",
          "or.b64 %u0, %db, 2; rem.s64 %d0, %da, %u0;",
          "add.cc.u64 %u0, %da, %db; addc.u64 %d0, %dc, %da;",
          "sub.cc.u64 %u0, %da, %db; subc.u64 %d0, %dc, %da;",
          "div.s64 %d0, %da, 10;"});
  append(
      cases, "b16",
      {"add.s16 %h0, %ha, %hb;", "sub.u16 %h0, %ha, %hb;", "mul.lo.s16 %h0, %ha, %hb;",
       "mul.hi.s16 %h0, %ha, %hb;", "mul.hi.u16 %h0, %ha, %hb;", "mad.lo.u16 %h0, %ha, %hb, %hc;",
       "sad.s16 %h0, %ha, %hb, %hc;", "abs.s16 %h0, %ha;", "min.s16 %h0, %ha, %hb;",
       "max.u16 %h0, %ha, %hb;", "or.b16 %s0, %hb, 2; div.s16 %h0, %ha, %s0;",
       "or.b16 %s0, %hb, 2; rem.u16 %h0, %ha, %s0;"});
  append(cases, "b32",
         {"mul.wide.s16 %r0, %ha, %hb;", "mul.wide.u16 %r0, %ha, %hb;",
          "mad.wide.s16 %r0, %ha, %hb, %rc;"});
}

CaseGroup integers() {
  CaseGroup group{"integers", Values::Integers, {}};
  append(
      group.cases, "b32",
      {"add.s32 %r0, %ra, %rb;",
       "sub.s32 %r0, %ra, %rb;",
       "mul.lo.s32 %r0, %ra, %rb;",
       "mul.hi.s32 %r0, %ra, %rb;",
       "mul.hi.u32 %r0, %ra, %rb;",
       "mad.lo.s32 %r0, %ra, %rb, %rc;",
       "mad.hi.s32 %r0, %ra, %rb, %rc;",
       "mad.hi.u32 %r0, %ra, %rb, %rc;",
       "mul24.lo.s32 %r0, %ra, %rb;",
       "mul24.hi.s32 %r0, %ra, %rb;",
       "mul24.hi.u32 %r0, %ra, %rb;",
       "mad24.lo.u32 %r0, %ra, %rb, %rc;",
       "sad.s32 %r0, %ra, %rb, %rc;",
       "sad.u32 %r0, %ra, %rb, %rc;",
       "abs.s32 %r0, %ra;",
       "neg.s32 %r0, %ra;",
       "min.s32 %r0, %ra, %rb;",
       "min.u32 %r0, %ra, %rb;",
       "max.s32 %r0, %ra, %rb;",
       "max.u32 %r0, %ra, %rb;",
       "or.b32 %t0, %rb, 1; div.u32 %r0, %ra, %t0;",
       "or.b32 %t0, %rb, 1; rem.u32 %r0, %ra, %t0;",
       "or.b32 %t0, %rb, 2; div.s32 %r0, %ra, %t0;",
       "or.b32 %t0, %rb, 2; rem.s32 %r0, %ra, %t0;",
       "div.s32 %r0, %ra, 7;",
       "div.u32 %r0, %ra, 10;",
       "rem.s32 %r0, %ra, -13;",
       "dp4a.s32.s32 %r0, %ra, %rb, %rc;",
       "dp4a.u32.u32 %r0, %ra, %rb, %rc;",
       "dp4a.u32.s32 %r0, %ra, %rb, %rc;",
       "dp4a.s32.u32 %r0, %ra, %rb, %rc;",
       "dp2a.lo.s32.s32 %r0, %ra, %rb, %rc;",
       "dp2a.hi.u32.u32 %r0, %ra, %rb, %rc;",
       "dp2a.lo.u32.s32 %r0, %ra, %rb, %rc;",
       "dp2a.hi.s32.u32 %r0, %ra, %rb, %rc;",
       "add.cc.u32 %t0, %ra, %rb; addc.u32 %r0, %rc, %re;",
       "sub.cc.u32 %t0, %ra, %rb; subc.u32 %r0, %rc, %re;",
       "add.cc.u32 %t0, %ra, %rb; addc.cc.u32 %t1, %rb, %rc; addc.u32 %r0, 0, 0;",
       "sub.cc.u32 %t0, %ra, %rb; subc.cc.u32 %t1, %rb, %rc; subc.u32 %r0, %re, 0;",
       "mad.lo.cc.u32 %t0, %ra, %rb, %rc; madc.hi.u32 %r0, %ra, %rb, %re;",
       "mad.lo.cc.u32 %t0, %ra, %rb, %rc; madc.hi.cc.u32 %t1, %ra, %rb, %re; addc.u32 %r0, %rc, 0;",
       "mad.hi.cc.s32 %t0, %ra, %rb, %rc; addc.u32 %r0, %re, %re;"});
  append_other_integers(group.cases);
  return group;
}

// Of 64 and 16 bits.
void append_other_bits(std::vector<Case>& cases) {
  append(cases, "b64",
         {"shl.b64 %d0, %da, %rb;", "shr.u64 %d0, %da, %rb;", "shr.s64 %d0, %da, %rb;",
          "and.b32 %t0, %rb, 127; shl.b64 %d0, %da, %t0;",
          "and.b32 %t0, %rb, 127; shr.s64 %d0, %da, %t0;",
          "and.b32 %t0, %rb, 127; shr.u64 %d0, %da, %t0;",
          "and.b32 %t0, %rb, 255; and.b32 %t1, %rc, 255; bfe.u64 %d0, %da, %t0, %t1;",
          "and.b32 %t0, %rb, 63; and.b32 %t1, %rc, 127; bfe.s64 %d0, %da, %t0, %t1;",
          "and.b32 %t0, %rb, 63; and.b32 %t1, %rc, 127; bfi.b64 %d0, %da, %db, %t0, %t1;",
          "brev.b64 %d0, %da;", "not.b64 %d0, %da;", "cnot.b64 %d0, %da;",
          "slct.b64.s32 %d0, %da, %db, %rc;", "mov.b64 {%t0, %t1}, %da; mov.b64 %d0, {%t1, %t0};"});
  append(cases, "b16",
         {"shl.b16 %h0, %ha, %rb;", "shr.u16 %h0, %ha, %rb;", "shr.s16 %h0, %ha, %rb;",
          "and.b32 %t0, %rb, 31; shr.s16 %h0, %ha, %t0;",
          "and.b32 %t0, %rb, 31; shl.b16 %h0, %ha, %t0;", "not.b16 %h0, %ha;"});
}

void append_integer_comparisons(std::vector<Case>& cases) {
  append(
      cases, "b32",
      {"setp.lt.s32 %p0, %ra, %rb; selp.b32 %r0, %rc, %re, %p0;",
       "setp.hi.u32 %p0, %ra, %rb; selp.b32 %r0, %rc, %re, %p0;",
       "setp.le.s64 %p0, %da, %db; selp.b32 %r0, %rc, %re, %p0;",
       "setp.gt.u64 %p0, %da, %db; selp.b32 %r0, %rc, %re, %p0;",
       "setp.ge.s16 %p0, %ha, %hb; selp.b32 %r0, %rc, %re, %p0;",
       "setp.ls.u16 %p0, %ha, %hb; selp.b32 %r0, %rc, %re, %p0;",
       "setp.ne.s32 %p1, %rc, 0; setp.lt.and.u32 %p0|%p2, %ra, %rb, %p1; selp.b32 %t0, 1, 0, %p0; "
       "selp.b32 %r0, 2, %t0, %p2;",
       "setp.lt.s32 %p1, %rc, 0; setp.ge.xor.s32 %p0, %ra, %rb, !%p1; selp.b32 %r0, 1, 0, %p0;",
       "set.lt.u32.s32 %r0, %ra, %rb;", "set.eq.f32.u32 %r0, %ra, %rb;"});
}

CaseGroup bits() {
  CaseGroup group{"bits", Values::Integers, {}};
  append(group.cases, "b32",
         {"shl.b32 %r0, %ra, %rb;",
          "shr.u32 %r0, %ra, %rb;",
          "shr.s32 %r0, %ra, %rb;",
          "shl.b32 %r0, %ra, 33;",
          "shr.s32 %r0, %ra, 40;",
          "and.b32 %t0, %rb, 63; shl.b32 %r0, %ra, %t0;",
          "and.b32 %t0, %rb, 63; shr.s32 %r0, %ra, %t0;",
          "shf.l.wrap.b32 %r0, %ra, %rb, %rc;",
          "shf.r.wrap.b32 %r0, %ra, %rb, %rc;",
          "shf.l.clamp.b32 %r0, %ra, %rb, %rc;",
          "shf.r.clamp.b32 %r0, %ra, %rb, %rc;",
          "and.b32 %t0, %rc, 63; shf.l.clamp.b32 %r0, %ra, %rb, %t0;",
          "and.b32 %t0, %rc, 63; shf.r.clamp.b32 %r0, %ra, %rb, %t0;",
          "shf.l.clamp.b32 %r0, %ra, %rb, 32;",
          "shf.r.wrap.b32 %r0, %ra, %rb, 37;",
          "prmt.b32 %r0, %ra, %rb, %rc;",
          "prmt.b32 %r0, %ra, %rb, 0x8a4e;",
          "prmt.b32.f4e %r0, %ra, %rb, %rc;",
          "prmt.b32.b4e %r0, %ra, %rb, %rc;",
          "prmt.b32.rc8 %r0, %ra, %rb, %rc;",
          "prmt.b32.ecl %r0, %ra, %rb, %rc;",
          "prmt.b32.ecr %r0, %ra, %rb, %rc;",
          "prmt.b32.rc16 %r0, %ra, %rb, %rc;",
          "bfe.u32 %r0, %ra, %rb, %rc;",
          "bfe.s32 %r0, %ra, %rb, %rc;",
          "and.b32 %t0, %rb, 31; and.b32 %t1, %rc, 63; bfe.s32 %r0, %ra, %t0, %t1;",
          "bfe.u32 %r0, %ra, 5, 9;",
          "bfe.s32 %r0, %ra, 24, 20;",
          "bfi.b32 %r0, %ra, %rb, %rc, %re;",
          "and.b32 %t0, %rc, 31; and.b32 %t1, %re, 63; bfi.b32 %r0, %ra, %rb, %t0, %t1;",
          "bfi.b32 %r0, %ra, %rb, 28, 9;",
          "brev.b32 %r0, %ra;",
          "clz.b32 %r0, %ra;",
          "popc.b32 %r0, %ra;",
          "bfind.u32 %r0, %ra;",
          "bfind.s32 %r0, %ra;",
          "bfind.shiftamt.u32 %r0, %ra;",
          "bfind.shiftamt.s32 %r0, %ra;",
          "clz.b64 %r0, %da;",
          "popc.b64 %r0, %da;",
          "bfind.u64 %r0, %da;",
          "bfind.s64 %r0, %da;",
          "bfind.shiftamt.s64 %r0, %da;",
          "and.b32 %t0, %rb, 31; fns.b32 %r0, %ra, %t0, 3;",
          "and.b32 %t0, %rb, 31; fns.b32 %r0, %ra, %t0, -2;",
          "bmsk.clamp.b32 %r0, %ra, %rb;",
          "bmsk.wrap.b32 %r0, %ra, %rb;",
          "and.b32 %t0, %ra, 63; and.b32 %t1, %rb, 63; bmsk.clamp.b32 %r0, %t0, %t1;",
          "szext.clamp.s32 %r0, %ra, %rb;",
          "szext.wrap.u32 %r0, %ra, %rb;",
          "and.b32 %t0, %rb, 63; szext.clamp.u32 %r0, %ra, %t0;",
          "and.b32 %t0, %rb, 63; szext.wrap.s32 %r0, %ra, %t0;",
          "not.b32 %r0, %ra;",
          "cnot.b32 %r0, %ra;",
          "lop3.b32 %r0, %ra, %rb, %rc, 0xe2;",
          "lop3.b32 %r0, %ra, %rb, %rc, 0x96;",
          "lop3.b32 %r0, %ra, %rb, %rc, 0x1d;",
          "slct.b32.s32 %r0, %ra, %rb, %rc;",
          "mov.b32 {%s0, %s1}, %ra; mov.b32 %r0, {%s1, %s0};"});
  append_integer_comparisons(group.cases);
  append_other_bits(group.cases);
  return group;
}

// Every rounding of an instruction's text with {} in the place of it.
Texts rounded(const std::string& text) {
  Texts texts;
  for (const char* rounding : {"rn", "rz", "rm", "rp"})
    texts.push_back(fmt::format(fmt::runtime(text), rounding));
  return texts;
}

// Comparisons of floats, each to a word.
void append_comparisons(std::vector<Case>& cases, const std::string& type, const std::string& a,
                        const std::string& b) {
  for (const char* comparison :
       {"eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"})
    append(
        cases, "b32",
        {fmt::format("setp.{}.{} %p0, {}, {}; selp.b32 %r0, 1, 2, %p0;", comparison, type, a, b)});
}

CaseGroup floats() {
  CaseGroup group{"floats", Values::Floats, {}};
  for (const char* text :
       {"add.{}.f32 %r0, %ra, %rb;", "sub.{}.f32 %r0, %ra, %rb;", "mul.{}.f32 %r0, %ra, %rb;",
        "fma.{}.f32 %r0, %ra, %rb, %rc;", "add.{}.ftz.f32 %r0, %ra, %rb;",
        "mul.{}.ftz.f32 %r0, %ra, %rb;", "fma.{}.ftz.f32 %r0, %ra, %rb, %rc;",
        "add.{}.sat.f32 %r0, %ra, %rb;", "fma.{}.sat.f32 %r0, %ra, %rb, %rc;",
        "div.{}.f32 %r0, %ra, %rb;", "rcp.{}.f32 %r0, %ra;", "sqrt.{}.f32 %r0, %ra;",
        "div.{}.ftz.f32 %r0, %ra, %rb;", "rcp.{}.ftz.f32 %r0, %ra;", "sqrt.{}.ftz.f32 %r0, %ra;"})
    append(group.cases, "f32", rounded(text));
  append(group.cases, "f32",
         {"min.f32 %r0, %ra, %rb;", "max.f32 %r0, %ra, %rb;", "min.NaN.f32 %r0, %ra, %rb;",
          "max.NaN.f32 %r0, %ra, %rb;", "min.ftz.f32 %r0, %ra, %rb;",
          "max.ftz.NaN.f32 %r0, %ra, %rb;", "min.xorsign.abs.f32 %r0, %ra, %rb;",
          "max.NaN.xorsign.abs.f32 %r0, %ra, %rb;", "abs.f32 %r0, %ra;", "neg.f32 %r0, %ra;",
          "abs.ftz.f32 %r0, %ra;", "neg.ftz.f32 %r0, %ra;", "copysign.f32 %r0, %ra, %rb;",
          "slct.b32.f32 %r0, %ra, %rb, %rc;", "slct.ftz.b32.f32 %r0, %ra, %rb, %rc;",
          "set.lt.f32.f32 %r0, %ra, %rb;", "mul.rn.f32 %t0, %ra, %rb; add.rn.f32 %r0, %t0, %rc;",
          "neg.f32 %t0, %rb; fma.rn.f32 %r0, %ra, %t0, %rc;",
          "abs.f32 %t0, %ra; add.rn.f32 %r0, %t0, %rb;"});
  append(group.cases, "b32",
         {"set.gtu.u32.f32 %r0, %ra, %rb;",
          "setp.lt.ftz.f32 %p0, %ra, %rb; selp.b32 %r0, 1, 0, %p0;"});
  for (const char* kind : {"finite", "infinite", "number", "notanumber", "normal", "subnormal"})
    append(group.cases, "b32",
           {fmt::format("testp.{}.f32 %p0, %ra; selp.b32 %r0, 1, 0, %p0;", kind)});
  append_comparisons(group.cases, "f32", "%ra", "%rb");
  append(
      group.cases, "f32",
      {"rcp.approx.ftz.f32 %r0, %ra;", "rcp.approx.f32 %r0, %ra;", "rsqrt.approx.ftz.f32 %r0, %ra;",
       "rsqrt.approx.f32 %r0, %ra;", "sqrt.approx.ftz.f32 %r0, %ra;", "sqrt.approx.f32 %r0, %ra;",
       "ex2.approx.ftz.f32 %r0, %ra;", "ex2.approx.f32 %r0, %ra;"},
      {.ulps = 4});
  append(group.cases, "f32", {"lg2.approx.ftz.f32 %r0, %ra;", "lg2.approx.f32 %r0, %ra;"},
         {.ulps = 4, .absolute = 0x1p-21});
  append(group.cases, "f32", {"tanh.approx.f32 %r0, %ra;"}, {.ulps = 1 << 13});
  return group;
}

CaseGroup doubles() {
  CaseGroup group{"doubles", Values::Doubles, {}};
  for (const char* text :
       {"add.{}.f64 %d0, %da, %db;", "sub.{}.f64 %d0, %da, %db;", "mul.{}.f64 %d0, %da, %db;",
        "fma.{}.f64 %d0, %da, %db, %dc;", "div.{}.f64 %d0, %da, %db;", "rcp.{}.f64 %d0, %da;",
        "sqrt.{}.f64 %d0, %da;"})
    append(group.cases, "f64", rounded(text));
  append(group.cases, "f64",
         {"min.f64 %d0, %da, %db;", "max.f64 %d0, %da, %db;", "abs.f64 %d0, %da;",
          "neg.f64 %d0, %da;", "copysign.f64 %d0, %da, %db;"});
  append_comparisons(group.cases, "f64", "%da", "%db");
  for (const char* rounding : {"rni", "rzi", "rmi", "rpi"}) {
    append(group.cases, "b32",
           {fmt::format("cvt.{}.s32.f64 %r0, %da;", rounding),
            fmt::format("cvt.{}.u32.f64 %r0, %da;", rounding)});
    append(group.cases, "b64",
           {fmt::format("cvt.{}.s64.f64 %d0, %da;", rounding),
            fmt::format("cvt.{}.u64.f64 %d0, %da;", rounding)});
    append(group.cases, "f64", {fmt::format("cvt.{}.f64.f64 %d0, %da;", rounding)});
  }
  append(group.cases, "b16", {"cvt.rzi.s16.f64 %h0, %da;", "cvt.rni.u16.f64 %h0, %da;"});
  append(group.cases, "f32", rounded("cvt.{}.f32.f64 %r0, %da;"));
  append(group.cases, "f32", {"cvt.rn.ftz.f32.f64 %r0, %da;", "cvt.rn.sat.f32.f64 %r0, %da;"});
  append(group.cases, "f16", {"cvt.rn.f16.f64 %h0, %da;"});
  return group;
}

CaseGroup halves() {
  CaseGroup group{"halves", Values::Halves, {}};
  append(group.cases, "f16",
         {"add.rn.f16 %h0, %ha, %hb;", "sub.rn.f16 %h0, %ha, %hb;", "mul.rn.f16 %h0, %ha, %hb;",
          "fma.rn.f16 %h0, %ha, %hb, %hc;", "add.rn.ftz.f16 %h0, %ha, %hb;",
          "fma.rn.ftz.f16 %h0, %ha, %hb, %hc;", "add.rn.sat.f16 %h0, %ha, %hb;",
          "fma.rn.relu.f16 %h0, %ha, %hb, %hc;", "min.f16 %h0, %ha, %hb;",
          "max.NaN.f16 %h0, %ha, %hb;", "neg.f16 %h0, %ha;", "abs.f16 %h0, %ha;"});
  append(
      group.cases, "f16x2",
      {"add.rn.f16x2 %r0, %ra, %rb;", "sub.rn.f16x2 %r0, %ra, %rb;", "mul.rn.f16x2 %r0, %ra, %rb;",
       "fma.rn.f16x2 %r0, %ra, %rb, %rc;", "fma.rn.sat.f16x2 %r0, %ra, %rb, %rc;",
       "fma.rn.relu.f16x2 %r0, %ra, %rb, %rc;", "mul.rn.ftz.f16x2 %r0, %ra, %rb;",
       "min.f16x2 %r0, %ra, %rb;", "max.f16x2 %r0, %ra, %rb;", "min.NaN.f16x2 %r0, %ra, %rb;",
       "max.xorsign.abs.f16x2 %r0, %ra, %rb;", "neg.f16x2 %r0, %ra;", "abs.f16x2 %r0, %ra;"});
  append(group.cases, "b32",
         {"setp.lt.f16x2 %p0|%p1, %ra, %rb; selp.b32 %t0, 1, 0, %p0; selp.b32 %t1, 2, 0, %p1; "
          "or.b32 %r0, %t0, %t1;"});
  append_comparisons(group.cases, "f16", "%ha", "%hb");
  append(group.cases, "f32", {"cvt.f32.f16 %r0, %ha;"});
  append(group.cases, "f64", {"cvt.f64.f16 %d0, %ha;"});
  for (const char* rounding : {"rni", "rzi", "rmi", "rpi"}) {
    append(group.cases, "b32",
           {fmt::format("cvt.{}.s32.f16 %r0, %ha;", rounding),
            fmt::format("cvt.{}.u32.f16 %r0, %ha;", rounding)});
    append(group.cases, "f16", {fmt::format("cvt.{}.f16.f16 %h0, %ha;", rounding)});
  }
  append(group.cases, "b16", {"cvt.rzi.s16.f16 %h0, %ha;", "cvt.rzi.u16.f16 %h0, %ha;"});
  append(group.cases, "b64", {"cvt.rzi.s64.f16 %d0, %ha;"});
  append(group.cases, "f16x2",
         {"cvt.rn.f16x2.e4m3x2 %r0, %ha;", "cvt.rn.f16x2.e5m2x2 %r0, %ha;",
          "cvt.rn.relu.f16x2.e4m3x2 %r0, %ha;"},
         {}, 90);
  append(group.cases, "e4m3x2", {"cvt.rn.satfinite.e4m3x2.f16x2 %h0, %ra;"}, {}, 90);
  append(group.cases, "e5m2x2", {"cvt.rn.satfinite.e5m2x2.f16x2 %h0, %ra;"}, {}, 90);
  append(group.cases, "f16", {"ex2.approx.f16 %h0, %ha;", "tanh.approx.f16 %h0, %ha;"},
         {.ulps = 8, .absolute = 0x1p-10});
  append(group.cases, "f16x2", {"ex2.approx.f16x2 %r0, %ra;"}, {.ulps = 8, .absolute = 0x1p-10});
  append(group.cases, "f16x2",
         {"min.ftz.f16x2 %r0, %ra, %rb;", "max.ftz.NaN.f16x2 %r0, %ra, %rb;"});
  append(group.cases, "b32", {"setp.lt.ftz.f16 %p0, %ha, %hb; selp.b32 %r0, 1, 0, %p0;"});
  return group;
}

CaseGroup brains() {
  CaseGroup group{"brains", Values::Brains, {}};
  append(group.cases, "bf16",
         {"fma.rn.bf16 %h0, %ha, %hb, %hc;", "fma.rn.relu.bf16 %h0, %ha, %hb, %hc;",
          "min.bf16 %h0, %ha, %hb;", "max.NaN.bf16 %h0, %ha, %hb;", "neg.bf16 %h0, %ha;",
          "abs.bf16 %h0, %ha;"});
  append(group.cases, "bf16x2",
         {"fma.rn.bf16x2 %r0, %ra, %rb, %rc;", "fma.rn.relu.bf16x2 %r0, %ra, %rb, %rc;",
          "min.bf16x2 %r0, %ra, %rb;", "max.bf16x2 %r0, %ra, %rb;", "min.NaN.bf16x2 %r0, %ra, %rb;",
          "max.xorsign.abs.bf16x2 %r0, %ra, %rb;", "neg.bf16x2 %r0, %ra;", "abs.bf16x2 %r0, %ra;"});
  append(group.cases, "bf16",
         {"add.rn.bf16 %h0, %ha, %hb;", "sub.rn.bf16 %h0, %ha, %hb;", "mul.rn.bf16 %h0, %ha, %hb;"},
         {}, 90);
  append(group.cases, "bf16x2", {"add.rn.bf16x2 %r0, %ra, %rb;", "mul.rn.bf16x2 %r0, %ra, %rb;"},
         {}, 90);
  append(group.cases, "f32", {"cvt.f32.bf16 %r0, %ha;"}, {}, 90);
  append(group.cases, "b32",
         {"setp.lt.bf16 %p0, %ha, %hb; selp.b32 %r0, 1, 0, %p0;",
          "setp.geu.bf16 %p0, %ha, %hb; selp.b32 %r0, 1, 0, %p0;", "cvt.rzi.s32.bf16 %r0, %ha;",
          "cvt.rni.u32.bf16 %r0, %ha;"},
         {}, 90);
  append(group.cases, "bf16", {"tanh.approx.bf16 %h0, %ha;", "ex2.approx.ftz.bf16 %h0, %ha;"},
         {.ulps = 2}, 90);
  append(group.cases, "bf16", {"cvt.rpi.bf16.bf16 %h0, %ha;", "cvt.rni.bf16.bf16 %h0, %ha;"}, {},
         90);
  return group;
}

CaseGroup conversions() {
  CaseGroup group{"conversions", Values::Floats, {}};
  for (const char* rounding : {"rni", "rzi", "rmi", "rpi"}) {
    append(group.cases, "b32",
           {fmt::format("cvt.{}.s32.f32 %r0, %ra;", rounding),
            fmt::format("cvt.{}.u32.f32 %r0, %ra;", rounding)});
    append(group.cases, "b64",
           {fmt::format("cvt.{}.s64.f32 %d0, %ra;", rounding),
            fmt::format("cvt.{}.u64.f32 %d0, %ra;", rounding)});
    append(group.cases, "b16",
           {fmt::format("cvt.{}.s16.f32 %h0, %ra;", rounding),
            fmt::format("cvt.{}.u16.f32 %h0, %ra;", rounding)});
    append(group.cases, "b32", {fmt::format("cvt.{}.s8.f32 %r0, %ra;", rounding)});
    append(group.cases, "f32",
           {fmt::format("cvt.{}.f32.f32 %r0, %ra;", rounding),
            fmt::format("cvt.{}.ftz.f32.f32 %r0, %ra;", rounding)});
  }
  append(group.cases, "b32", {"cvt.rpi.ftz.s32.f32 %r0, %ra;"});
  append(group.cases, "f16", rounded("cvt.{}.f16.f32 %h0, %ra;"));
  append(group.cases, "f16",
         {"cvt.rn.relu.f16.f32 %h0, %ra;", "cvt.rn.sat.f16.f32 %h0, %ra;",
          "cvt.rn.satfinite.f16.f32 %h0, %ra;", "cvt.rn.ftz.f16.f32 %h0, %ra;"});
  append(group.cases, "bf16",
         {"cvt.rn.bf16.f32 %h0, %ra;", "cvt.rz.bf16.f32 %h0, %ra;",
          "cvt.rn.relu.bf16.f32 %h0, %ra;", "cvt.rz.satfinite.bf16.f32 %h0, %ra;"});
  append(group.cases, "f16x2",
         {"cvt.rn.f16x2.f32 %r0, %ra, %rb;", "cvt.rz.f16x2.f32 %r0, %ra, %rb;",
          "cvt.rn.relu.f16x2.f32 %r0, %ra, %rb;", "cvt.rn.satfinite.f16x2.f32 %r0, %ra, %rb;"});
  append(group.cases, "bf16x2",
         {"cvt.rn.bf16x2.f32 %r0, %ra, %rb;", "cvt.rz.bf16x2.f32 %r0, %ra, %rb;",
          "cvt.rn.relu.bf16x2.f32 %r0, %ra, %rb;"});
  append(group.cases, "e4m3x2",
         {"cvt.rn.satfinite.e4m3x2.f32 %h0, %ra, %rb;",
          "cvt.rn.satfinite.relu.e4m3x2.f32 %h0, %ra, %rb;"},
         {}, 90);
  append(group.cases, "e5m2x2",
         {"cvt.rn.satfinite.e5m2x2.f32 %h0, %ra, %rb;",
          "cvt.rn.satfinite.relu.e5m2x2.f32 %h0, %ra, %rb;"},
         {}, 90);
  append(group.cases, "f32", {"cvt.rna.tf32.f32 %r0, %ra;"});
  append(group.cases, "f32", {"cvt.rn.tf32.f32 %r0, %ra;", "cvt.rz.relu.tf32.f32 %r0, %ra;"}, {},
         90);
  append(group.cases, "f64", {"cvt.f64.f32 %d0, %ra;", "cvt.ftz.f64.f32 %d0, %ra;"});
  append(group.cases, "f32", {"cvt.sat.f32.f32 %r0, %ra;", "cvt.ftz.f32.f32 %r0, %ra;"});
  return group;
}

CaseGroup integer_conversions() {
  CaseGroup group{"integer_conversions", Values::Integers, {}};
  for (const char* from : {"s32 {1}, %ra", "u32 {1}, %ra", "s64 {1}, %da", "u64 {1}, %da",
                           "s16 {1}, %ha", "u16 {1}, %ha", "s8 {1}, %ra", "u8 {1}, %ra"}) {
    const auto text = [&](const char* to, const char* rounding, const char* result) {
      return fmt::format(fmt::runtime("cvt.{0}." + std::string(to) + "." + from + ";"), rounding,
                         result);
    };
    for (const char* rounding : {"rn", "rz", "rm", "rp"}) {
      append(group.cases, "f32", {text("f32", rounding, "%r0")});
      append(group.cases, "f64", {text("f64", rounding, "%d0")});
      append(group.cases, "f16", {text("f16", rounding, "%h0")});
    }
    if (from[1] != '8') append(group.cases, "bf16", {text("bf16", "rn", "%h0")}, {}, 90);
  }
  append(group.cases, "b32",
         {"cvt.s32.s8 %r0, %ra;", "cvt.u32.u8 %r0, %ra;", "cvt.s32.s16 %r0, %ha;",
          "cvt.u32.u16 %r0, %ha;", "cvt.u32.u64 %r0, %da;", "cvt.sat.s32.s64 %r0, %da;",
          "cvt.sat.u32.s64 %r0, %da;", "cvt.sat.u32.u64 %r0, %da;", "cvt.sat.s8.u32 %r0, %ra;",
          "cvt.sat.u32.s32 %r0, %ra;", "cvt.sat.s32.u32 %r0, %ra;", "cvt.s8.s32 %r0, %ra;",
          "cvt.u8.u32 %r0, %ra;", "cvt.s16.s32 %r0, %ra;"});
  append(group.cases, "b64",
         {"cvt.s64.s32 %d0, %ra;", "cvt.u64.u32 %d0, %ra;", "cvt.s64.s16 %d0, %ha;",
          "cvt.s64.s8 %d0, %ra;"});
  append(group.cases, "b16",
         {"cvt.sat.u16.u32 %h0, %ra;", "cvt.u16.u32 %h0, %ra;", "cvt.s16.s8 %h0, %ha;"});
  return group;
}

}  // namespace

const std::vector<CaseGroup>& case_groups() {
  static const std::vector<CaseGroup> kGroups = {
      integers(), bits(),   floats(),      doubles(),
      halves(),   brains(), conversions(), integer_conversions()};
  return kGroups;
}

}  // namespace doorbell::ptx
