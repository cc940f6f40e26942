const token =
  /[ \t\r\n]*(?:("[^"\\]*(?:\\(?:["\\/bfnrt]|u[\da-fA-F]{4})[^"\\]*)*")|(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)|([{}[\],:]))/y

/** What a string holds only in escaped form: C0, and not C1. */
const control = /[^\P{Cc}\u007f-\u009f]/u

/** What may come next. `first` is the place after an opening bracket, where it may close at once. */
type Expected = 'value' | 'first-value' | 'first-name' | 'name' | 'colon' | 'next' | 'nothing'

/** The place, counted from 0, at which a text stops being the beginning of any JSON; its length where it only ends too early. */
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

/** Where JSON breaks, in words that repeat nothing of it. Lines and columns count from 1; of one line the column is enough. */
export function describeBreak(text: string, isOneLine = false): string {
  if (text.trim() === '') return 'is empty'
  const at = breakOf(text)
  const before = text.slice(0, at).split('\n')
  const column = `column ${(before.at(-1)?.length ?? 0) + 1}`
  const place = isOneLine ? column : `line ${before.length}, ${column}`
  return at >= text.trimEnd().length
    ? `is not whole JSON: it ends at ${place}`
    : `is not valid JSON: it breaks at ${place}`
}
