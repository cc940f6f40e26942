const token =
  /[ \t\r\n]*(?:("[^"\\]*(?:\\(?:["\\/bfnrt]|u[\da-fA-F]{4})[^"\\]*)*")|(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)|([{}[\],:]))/y

/** Characters that JSON strings only contain in escaped form: C0, and not C1. */
const control = /[^\P{Cc}\u007f-\u009f]/u

/** The token that may come next. `first-…` follows an opening bracket, where a closing bracket is also allowed. */
type Expected = 'value' | 'first-value' | 'first-name' | 'name' | 'colon' | 'next' | 'nothing'

/** The offset at which the text stops being a prefix of JSON. The length of the text when it only ends too early. */
export function breakOf(text: string): number {
  const open: ('{' | '[')[] = []
  let expected: Expected = 'value'
  let at = 0
  const after = (): Expected => (open.length === 0 ? 'nothing' : 'next')
  for (;;) {
    token.lastIndex = at
    const [found, string, scalar, mark] = token.exec(text) ?? []
    const start = at + (/^[ \t\r\n]*/.exec(text.slice(at, at + 10_000))?.[0].length ?? 0)
    if (found === undefined) return start
    const bare = string?.search(control) ?? -1
    if (bare >= 0) return start + bare
    const takesValue = expected === 'value' || expected === 'first-value'
    if (string !== undefined && (expected === 'name' || expected === 'first-name')) expected = 'colon'
    else if ((string !== undefined || scalar !== undefined) && takesValue) expected = after()
    else if ((mark === '{' || mark === '[') && takesValue) {
      open.push(mark)
      expected = mark === '{' ? 'first-name' : 'first-value'
    } else if (mark === ':' && expected === 'colon') expected = 'value'
    else if (mark === ',' && expected === 'next') expected = open.at(-1) === '{' ? 'name' : 'value'
    else if (mark === '}' && open.at(-1) === '{' && (expected === 'next' || expected === 'first-name')) {
      open.pop()
      expected = after()
    } else if (mark === ']' && open.at(-1) === '[' && (expected === 'next' || expected === 'first-value')) {
      open.pop()
      expected = after()
    } else return start
    at = token.lastIndex
  }
}

/** Describes the place of a JSON error without repeating the text. Lines and columns count from 1; a single line needs only the column. */
export function describeBreak(text: string, isOneLine = false): string {
  if (text.trim() === '') return 'is empty'
  const at = breakOf(text)
  const before = text.slice(0, at).split('\n')
  const column = `column ${(before.at(-1)?.length ?? 0) + 1}`
  const place = isOneLine ? column : `line ${before.length}, ${column}`
  return at >= text.trimEnd().length
    ? `is incomplete JSON: it ends at ${place}`
    : `is not valid JSON: the error is at ${place}`
}
