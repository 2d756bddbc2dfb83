package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/expr-lang/expr"

	"parley/internal/llm"
)

// maxExpression limits the bytes of an expression, and maxNodes its operands and operators. There are no
// loops, so together they limit the time of its evaluation.
const (
	maxExpression = 1000
	maxNodes      = 200
)

// calculatorEnv contains all names that an expression can use.
var calculatorEnv = map[string]any{
	"pi": math.Pi, "e": math.E,
	"sqrt": math.Sqrt, "cbrt": math.Cbrt, "exp": math.Exp, "ln": math.Log, "log10": math.Log10, "log2": math.Log2,
	"sin": math.Sin, "cos": math.Cos, "tan": math.Tan, "asin": math.Asin, "acos": math.Acos, "atan": math.Atan,
	"abs": math.Abs, "floor": math.Floor, "ceil": math.Ceil, "round": math.Round, "trunc": math.Trunc,
	"pow": math.Pow, "min": math.Min, "max": math.Max, "mod": math.Mod,
}

// Calculator returns a tool that evaluates arithmetic expressions.
func Calculator() Tool {
	return Tool{
		Tool: llm.Tool{
			Name: "calculator",
			Description: "Computes an arithmetic expression exactly as a pocket calculator would. Operators: + - * / % ** and parentheses. " +
				"Functions: sqrt, cbrt, exp, ln, log10, log2, sin, cos, tan, asin, acos, atan, abs, floor, ceil, round, trunc, pow(x, y), min(x, y), max(x, y), mod(x, y). Constants: pi, e.",
			Parameters: json.RawMessage(`{"type":"object","properties":{"expression":{"type":"string","description":"for example (1200 + 80) * 0.19"}},"required":["expression"],"additionalProperties":false}`),
		},
		Run: calculate,
	}
}

func calculate(_ context.Context, call Call) (Result, error) {
	args, err := arguments[struct {
		Expression string `json:"expression"`
	}](call)
	if err != nil {
		return Result{}, err
	}
	if args.Expression == "" || len(args.Expression) > maxExpression {
		return Result{}, failf("The expression is empty or longer than %d bytes.", maxExpression)
	}
	program, err := expr.Compile(args.Expression, expr.Env(calculatorEnv), expr.DisableAllBuiltins(), expr.MaxNodes(maxNodes), expr.AsFloat64())
	if err != nil {
		return Result{}, &Error{Msg: "The expression can't be read: it may hold numbers, operators, parentheses and the functions of the tool.", Err: err}
	}
	out, err := expr.Run(program, calculatorEnv)
	if err != nil {
		return Result{}, &Error{Msg: "The expression has no value.", Err: err}
	}
	value, ok := out.(float64)
	if !ok || math.IsNaN(value) || math.IsInf(value, 0) {
		return Result{}, failf("The expression has no finite value.")
	}
	return Result{Text: fmt.Sprintf("%s = %s", args.Expression, number(value))}, nil
}

// number formats a value with 15 significant digits, which hides the rounding of binary fractions,
// and without an exponent where people would not write one.
func number(x float64) string {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 15, 64), 64)
	if err != nil {
		rounded = x
	}
	if a := math.Abs(rounded); a != 0 && (a < 1e-6 || a >= 1e21) {
		return strconv.FormatFloat(rounded, 'g', -1, 64)
	}
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}
