#include "textflag.h"

// Instructions that Go's assembler lacks, on registers by their numbers: d = n op m. See the Arm Architecture Reference Manual for
// A-profile, C7.2.
#define FADD4(m, n, d) WORD $(0x4e20d400 | (m)<<16 | (n)<<5 | (d))
#define FSUB4(m, n, d) WORD $(0x4ea0d400 | (m)<<16 | (n)<<5 | (d))
#define FMUL4(m, n, d) WORD $(0x6e20dc00 | (m)<<16 | (n)<<5 | (d))
#define FDIV4(m, n, d) WORD $(0x6e20fc00 | (m)<<16 | (n)<<5 | (d))
#define FMAX4(m, n, d) WORD $(0x4e20f400 | (m)<<16 | (n)<<5 | (d))
#define FMIN4(m, n, d) WORD $(0x4ea0f400 | (m)<<16 | (n)<<5 | (d))
#define FMLA4(m, n, d) WORD $(0x4e20cc00 | (m)<<16 | (n)<<5 | (d))
#define FMLS4(m, n, d) WORD $(0x4ea0cc00 | (m)<<16 | (n)<<5 | (d))
#define FABS4(n, d) WORD $(0x4ea0f800 | (n)<<5 | (d))
#define FNEG4(n, d) WORD $(0x6ea0f800 | (n)<<5 | (d))
#define FRINTN4(n, d) WORD $(0x4e218800 | (n)<<5 | (d))
#define FCVTNS4(n, d) WORD $(0x4e21a800 | (n)<<5 | (d))
#define SCVTF4(n, d) WORD $(0x4e21d800 | (n)<<5 | (d))
#define FCMLTZ4(n, d) WORD $(0x4ea0e800 | (n)<<5 | (d))
#define FMAXV4(n, d) WORD $(0x6e30f800 | (n)<<5 | (d))
#define FMINV4(n, d) WORD $(0x6eb0f800 | (n)<<5 | (d))
#define FADDP2(n, d) WORD $(0x7e30d800 | (n)<<5 | (d))
#define BSL16(m, n, d) WORD $(0x6e601c00 | (m)<<16 | (n)<<5 | (d))
#define MLS4(m, n, d) WORD $(0x6ea09400 | (m)<<16 | (n)<<5 | (d))
#define SQXTUN4(n, d) WORD $(0x2e612800 | (n)<<5 | (d))
#define SQXTUN8(n, d) WORD $(0x6e612800 | (n)<<5 | (d))
#define UQXTN8(n, d) WORD $(0x2e214800 | (n)<<5 | (d))
#define SDOT4(m, n, d) WORD $(0x4e809400 | (m)<<16 | (n)<<5 | (d))

// The same with one of the four parts of m, whose number is given by two bits.
#define SDOTPART(high, low, m, n, d) WORD $(0x4f80e000 | (low)<<21 | (m)<<16 | (high)<<11 | (n)<<5 | (d))
#define FMLAPART(high, low, m, n, d) WORD $(0x4f801000 | (low)<<21 | (m)<<16 | (high)<<11 | (n)<<5 | (d))

// ZERO16 clears the first sixteen registers.
#define ZERO16 \
	VEOR V0.B16, V0.B16, V0.B16 \
	VEOR V1.B16, V1.B16, V1.B16 \
	VEOR V2.B16, V2.B16, V2.B16 \
	VEOR V3.B16, V3.B16, V3.B16 \
	VEOR V4.B16, V4.B16, V4.B16 \
	VEOR V5.B16, V5.B16, V5.B16 \
	VEOR V6.B16, V6.B16, V6.B16 \
	VEOR V7.B16, V7.B16, V7.B16 \
	VEOR V8.B16, V8.B16, V8.B16 \
	VEOR V9.B16, V9.B16, V9.B16 \
	VEOR V10.B16, V10.B16, V10.B16 \
	VEOR V11.B16, V11.B16, V11.B16 \
	VEOR V12.B16, V12.B16, V12.B16 \
	VEOR V13.B16, V13.B16, V13.B16 \
	VEOR V14.B16, V14.B16, V14.B16 \
	VEOR V15.B16, V15.B16, V15.B16

// DOT8 adds, for one group of four bytes of eight rows and eight columns.
#define DOT8(high, low) \
	VLD1 (R9), [V18.B16, V19.B16] \
	ADD  $64, R9 \
	SDOT4(28, 18, 16) \
	SDOT4(28, 19, 17) \
	SDOTPART(high, low, 20, 18, 0) \
	SDOTPART(high, low, 20, 19, 1) \
	SDOTPART(high, low, 21, 18, 2) \
	SDOTPART(high, low, 21, 19, 3) \
	SDOTPART(high, low, 22, 18, 4) \
	SDOTPART(high, low, 22, 19, 5) \
	SDOTPART(high, low, 23, 18, 6) \
	SDOTPART(high, low, 23, 19, 7) \
	SDOTPART(high, low, 24, 18, 8) \
	SDOTPART(high, low, 24, 19, 9) \
	SDOTPART(high, low, 25, 18, 10) \
	SDOTPART(high, low, 25, 19, 11) \
	SDOTPART(high, low, 26, 18, 12) \
	SDOTPART(high, low, 26, 19, 13) \
	SDOTPART(high, low, 27, 18, 14) \
	SDOTPART(high, low, 27, 19, 15)

// SIGN turns the bytes of eight rows into signed ones, which are 128 less.
#define SIGN \
	VEOR V29.B16, V20.B16, V20.B16 \
	VEOR V29.B16, V21.B16, V21.B16 \
	VEOR V29.B16, V22.B16, V22.B16 \
	VEOR V29.B16, V23.B16, V23.B16 \
	VEOR V29.B16, V24.B16, V24.B16 \
	VEOR V29.B16, V25.B16, V25.B16 \
	VEOR V29.B16, V26.B16, V26.B16 \
	VEOR V29.B16, V27.B16, V27.B16

// SUMROW adds 128 times the sums of the columns to a row, and stores it.
#define SUMROW(left, right) \
	VADD V16.S4, left.S4, left.S4 \
	VADD V17.S4, right.S4, right.S4 \
	VST1 [left.S4, right.S4], (R0) \
	ADD  $128, R0

// func tileNEON(acc *int32, a *uint8, lda, groups int, b *int8)
TEXT ·tileNEON(SB), NOSPLIT, $0-40
	MOVD acc+0(FP), R0
	MOVD a+8(FP), R1
	MOVD lda+16(FP), R11
	MOVD groups+24(FP), R10
	MOVD b+32(FP), R9
	ADD  R11, R1, R2
	ADD  R11, R2, R3
	ADD  R11, R3, R4
	ADD  R11, R4, R5
	ADD  R11, R5, R6
	ADD  R11, R6, R7
	ADD  R11, R7, R8
	VMOVI $1, V28.B16
	VMOVI $128, V29.B16
	ZERO16
	VEOR V16.B16, V16.B16, V16.B16
	VEOR V17.B16, V17.B16, V17.B16
	SUBS $4, R10, R10
	BLT  tileRest
tileLoop:
	VLD1.P 16(R1), [V20.B16]
	VLD1.P 16(R2), [V21.B16]
	VLD1.P 16(R3), [V22.B16]
	VLD1.P 16(R4), [V23.B16]
	VLD1.P 16(R5), [V24.B16]
	VLD1.P 16(R6), [V25.B16]
	VLD1.P 16(R7), [V26.B16]
	VLD1.P 16(R8), [V27.B16]
	SIGN
	DOT8(0, 0)
	DOT8(0, 1)
	DOT8(1, 0)
	DOT8(1, 1)
	SUBS $4, R10, R10
	BGE  tileLoop
tileRest:
	ADDS $4, R10, R10
	BEQ  tileStore
tileLast:
	FMOVS.P 4(R1), F20
	FMOVS.P 4(R2), F21
	FMOVS.P 4(R3), F22
	FMOVS.P 4(R4), F23
	FMOVS.P 4(R5), F24
	FMOVS.P 4(R6), F25
	FMOVS.P 4(R7), F26
	FMOVS.P 4(R8), F27
	SIGN
	DOT8(0, 0)
	SUBS $1, R10, R10
	BNE  tileLast
tileStore:
	VSHL $7, V16.S4, V16.S4
	VSHL $7, V17.S4, V17.S4
	SUMROW(V0, V1)
	SUMROW(V2, V3)
	SUMROW(V4, V5)
	SUMROW(V6, V7)
	SUMROW(V8, V9)
	SUMROW(V10, V11)
	SUMROW(V12, V13)
	SUMROW(V14, V15)
	RET

// SCALE turns four sums into floats.
#define SCALE(sums, scales, bias) \
	VLD1.P 16(R2), [V26.S4] \
	MLS4(sums, 24, 26) \
	SCVTF4(26, 26) \
	FMUL4(25, 26, 26) \
	VMOV bias.B16, V27.B16 \
	FMLA4(scales, 26, 27) \
	VST1.P [V27.S4], 16(R10)

// func scaleTileNEON(out *float32, ldo int, acc *int32, rows int, zero *int32, scale *float32, sums *int32, scales, bias *float32)
TEXT ·scaleTileNEON(SB), NOSPLIT, $0-72
	MOVD out+0(FP), R0
	MOVD ldo+8(FP), R1
	MOVD acc+16(FP), R2
	MOVD rows+24(FP), R3
	MOVD zero+32(FP), R4
	MOVD scale+40(FP), R5
	MOVD sums+48(FP), R6
	MOVD scales+56(FP), R7
	MOVD bias+64(FP), R8
	VLD1.P 64(R6), [V0.S4, V1.S4, V2.S4, V3.S4]
	VLD1 (R6), [V4.S4, V5.S4, V6.S4, V7.S4]
	VLD1.P 64(R7), [V8.S4, V9.S4, V10.S4, V11.S4]
	VLD1 (R7), [V12.S4, V13.S4, V14.S4, V15.S4]
	VLD1.P 64(R8), [V16.S4, V17.S4, V18.S4, V19.S4]
	VLD1 (R8), [V20.S4, V21.S4, V22.S4, V23.S4]
scaleLoop:
	VLD1R.P 4(R4), [V24.S4]
	VLD1R.P 4(R5), [V25.S4]
	MOVD R0, R10
	SCALE(0, 8, V16)
	SCALE(1, 9, V17)
	SCALE(2, 10, V18)
	SCALE(3, 11, V19)
	SCALE(4, 12, V20)
	SCALE(5, 13, V21)
	SCALE(6, 14, V22)
	SCALE(7, 15, V23)
	ADD  R1, R0, R0
	SUBS $1, R3, R3
	BNE  scaleLoop
	RET

// FLOAT4 adds the products of one column of four rows with a row of b.
#define FLOAT4(high, low) \
	VLD1.P 64(R6), [V16.S4, V17.S4, V18.S4, V19.S4] \
	FMLAPART(high, low, 20, 16, 0) \
	FMLAPART(high, low, 20, 17, 1) \
	FMLAPART(high, low, 20, 18, 2) \
	FMLAPART(high, low, 20, 19, 3) \
	FMLAPART(high, low, 21, 16, 4) \
	FMLAPART(high, low, 21, 17, 5) \
	FMLAPART(high, low, 21, 18, 6) \
	FMLAPART(high, low, 21, 19, 7) \
	FMLAPART(high, low, 22, 16, 8) \
	FMLAPART(high, low, 22, 17, 9) \
	FMLAPART(high, low, 22, 18, 10) \
	FMLAPART(high, low, 22, 19, 11) \
	FMLAPART(high, low, 23, 16, 12) \
	FMLAPART(high, low, 23, 17, 13) \
	FMLAPART(high, low, 23, 18, 14) \
	FMLAPART(high, low, 23, 19, 15)

// func floatTileNEON(c *float32, ldc int, a *float32, lda int, b *float32, k int)
TEXT ·floatTileNEON(SB), NOSPLIT, $0-48
	MOVD c+0(FP), R0
	MOVD ldc+8(FP), R1
	MOVD a+16(FP), R2
	MOVD lda+24(FP), R8
	MOVD b+32(FP), R6
	MOVD k+40(FP), R7
	ADD  R8, R2, R3
	ADD  R8, R3, R4
	ADD  R8, R4, R5
	ZERO16
	SUBS $4, R7, R7
	BLT  floatRest
floatLoop:
	VLD1.P 16(R2), [V20.S4]
	VLD1.P 16(R3), [V21.S4]
	VLD1.P 16(R4), [V22.S4]
	VLD1.P 16(R5), [V23.S4]
	FLOAT4(0, 0)
	FLOAT4(0, 1)
	FLOAT4(1, 0)
	FLOAT4(1, 1)
	SUBS $4, R7, R7
	BGE  floatLoop
floatRest:
	ADDS $4, R7, R7
	BEQ  floatStore
floatLast:
	FMOVS.P 4(R2), F20
	FMOVS.P 4(R3), F21
	FMOVS.P 4(R4), F22
	FMOVS.P 4(R5), F23
	FLOAT4(0, 0)
	SUBS $1, R7, R7
	BNE  floatLast
floatStore:
	VST1 [V0.S4, V1.S4, V2.S4, V3.S4], (R0)
	ADD  R1, R0
	VST1 [V4.S4, V5.S4, V6.S4, V7.S4], (R0)
	ADD  R1, R0
	VST1 [V8.S4, V9.S4, V10.S4, V11.S4], (R0)
	ADD  R1, R0
	VST1 [V12.S4, V13.S4, V14.S4, V15.S4], (R0)
	RET

// func rangeNEON(x *float32, n int) (low, high float32)
TEXT ·rangeNEON(SB), NOSPLIT, $0-24
	MOVD x+0(FP), R0
	MOVD n+8(FP), R1
	VLD1 (R0), [V0.S4]
	VMOV V0.B16, V1.B16
	VMOV V0.B16, V2.B16
	VMOV V0.B16, V3.B16
rangeLoop:
	VLD1.P 32(R0), [V4.S4, V5.S4]
	FMIN4(4, 0, 0)
	FMAX4(4, 1, 1)
	FMIN4(5, 2, 2)
	FMAX4(5, 3, 3)
	SUBS $8, R1, R1
	BNE  rangeLoop
	FMIN4(2, 0, 0)
	FMAX4(3, 1, 1)
	FMINV4(0, 0)
	FMAXV4(1, 1)
	FMOVS F0, low+16(FP)
	FMOVS F1, high+20(FP)
	RET

// BYTES4 turns four floats into integers.
#define BYTES4(x) \
	FMUL4(16, x, x) \
	FCVTNS4(x, x)

// func bytesNEON(dst *uint8, x *float32, n int, inverse float32, zero int32)
TEXT ·bytesNEON(SB), NOSPLIT, $0-32
	MOVD dst+0(FP), R0
	MOVD x+8(FP), R1
	MOVD n+16(FP), R2
	FMOVS inverse+24(FP), F16
	MOVW zero+28(FP), R3
	VDUP V16.S[0], V16.S4
	VDUP R3, V17.S4
bytesLoop:
	VLD1.P 64(R1), [V0.S4, V1.S4, V2.S4, V3.S4]
	BYTES4(0)
	BYTES4(1)
	BYTES4(2)
	BYTES4(3)
	VADD V17.S4, V0.S4, V0.S4
	VADD V17.S4, V1.S4, V1.S4
	VADD V17.S4, V2.S4, V2.S4
	VADD V17.S4, V3.S4, V3.S4
	SQXTUN4(0, 4)
	SQXTUN8(1, 4)
	SQXTUN4(2, 5)
	SQXTUN8(3, 5)
	UQXTN8(4, 6)
	UQXTN8(5, 7)
	VST1.P [V6.B8, V7.B8], 16(R0)
	SUBS $16, R2, R2
	BNE  bytesLoop
	RET

// CONSTANT broadcasts the bits of a float.
#define CONSTANT(bits, v) \
	MOVW $bits, R3 \
	VDUP R3, v.S4

// Constants of exp (Cephes expf), as on amd64.
#define EXPCONSTANTS \
	CONSTANT(0x3fb8aa3b, V16) \ // log2 e
	CONSTANT(0x3f318000, V17) \ // ln 2
	CONSTANT(0xb95e8083, V18) \
	CONSTANT(0xc2aeac4f, V19) \ // the limits
	CONSTANT(0x42b0c0a5, V20) \
	CONSTANT(0x39506967, V21) \
	CONSTANT(0x3ab743ce, V22) \
	CONSTANT(0x3c088908, V23) \
	CONSTANT(0x3d2aa9c1, V24) \
	CONSTANT(0x3e2aaaaa, V25) \
	CONSTANT(0x3f000000, V26) \ // 1/2
	CONSTANT(0x3f800000, V27) \ // 1
	CONSTANT(0x0000007f, V28)   // the bias of exponents

// EXP4 replaces the four floats in V0 by their exponentials. It overwrites V1 to V3.
#define EXP4 \
	FMAX4(19, 0, 0) \
	FMIN4(20, 0, 0) \
	FMUL4(16, 0, 1) \
	FRINTN4(1, 1) \
	FMLS4(17, 1, 0) \
	FMLS4(18, 1, 0) \
	VMOV V22.B16, V2.B16 \
	FMLA4(0, 21, 2) \
	VMOV V23.B16, V3.B16 \
	FMLA4(0, 2, 3) \
	VMOV V24.B16, V2.B16 \
	FMLA4(0, 3, 2) \
	VMOV V25.B16, V3.B16 \
	FMLA4(0, 2, 3) \
	VMOV V26.B16, V2.B16 \
	FMLA4(0, 3, 2) \
	FMUL4(0, 0, 3) \
	FMLA4(3, 2, 0) \
	FADD4(27, 0, 0) \
	FCVTNS4(1, 1) \
	VADD V28.S4, V1.S4, V1.S4 \
	VSHL $23, V1.S4, V1.S4 \
	FMUL4(1, 0, 0)

// func expNEON(x *float32, n int, high float32) float32
TEXT ·expNEON(SB), NOSPLIT, $0-28
	MOVD x+0(FP), R0
	MOVD n+8(FP), R1
	FMOVS high+16(FP), F8
	VDUP V8.S[0], V8.S4
	EXPCONSTANTS
	VEOR V6.B16, V6.B16, V6.B16
	VEOR V7.B16, V7.B16, V7.B16
expLoop:
	VLD1 (R0), [V0.S4]
	FSUB4(8, 0, 0)
	EXP4
	FADD4(0, 6, 6)
	VST1.P [V0.S4], 16(R0)
	VLD1 (R0), [V0.S4]
	FSUB4(8, 0, 0)
	EXP4
	FADD4(0, 7, 7)
	VST1.P [V0.S4], 16(R0)
	SUBS $8, R1, R1
	BNE  expLoop
	FADD4(7, 6, 6)
	VEXT $8, V6.B16, V6.B16, V7.B16
	FADD4(7, 6, 6)
	FADDP2(6, 6)
	FMOVS F6, ret+24(FP)
	RET

// func geluNEON(x *float32, n int)
TEXT ·geluNEON(SB), NOSPLIT, $0-16
	MOVD x+0(FP), R0
	MOVD n+8(FP), R1
	EXPCONSTANTS
	CONSTANT(0x3ea7ba05, V9) // the error function (Abramowitz and Stegun 7.1.26), as on amd64
	CONSTANT(0x3e827906, V10)
	CONSTANT(0xbe91a98e, V11)
	CONSTANT(0x3fb5f0e3, V12)
	CONSTANT(0xbfba00e3, V13)
	CONSTANT(0x3f87dc22, V14)
	CONSTANT(0x3f3504f3, V15) // 1/√2
geluLoop:
	VLD1 (R0), [V5.S4]
	FABS4(5, 6)
	FMUL4(15, 6, 6)
	FMUL4(6, 6, 0)
	FNEG4(0, 0)
	EXP4
	VMOV V27.B16, V7.B16
	FMLA4(9, 6, 7)
	FDIV4(7, 27, 7)
	VMOV V13.B16, V8.B16
	FMLA4(14, 7, 8)
	VMOV V12.B16, V4.B16
	FMLA4(8, 7, 4)
	VMOV V11.B16, V8.B16
	FMLA4(4, 7, 8)
	VMOV V10.B16, V4.B16
	FMLA4(8, 7, 4)
	FMUL4(7, 4, 4)
	FMUL4(0, 4, 4)
	FMUL4(26, 4, 4)
	FSUB4(4, 27, 6)
	FCMLTZ4(5, 7)
	BSL16(6, 4, 7)
	FMUL4(5, 7, 7)
	VST1.P [V7.S4], 16(R0)
	SUBS $4, R1, R1
	BNE  geluLoop
	RET
