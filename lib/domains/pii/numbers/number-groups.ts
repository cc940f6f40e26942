import { isDigit } from '#lib/domains/pii/character-classes.ts'

export interface NumberGroups {
  digits: string[]
  ends: number[]
  gaps: string[]
}
const gap = /(?:[ \u00a0\u202f]{1,2}|[-.\u2010-\u2013]|[ \t]{0,4}\r?\n[ \t>*]{0,6})(?=\d)/y
const most = 6

/** Groups of digits from here, at most six and none longer than a card number, with the text between them. */
export function groupsFrom(text: string, start: number): NumberGroups {
  const groups: NumberGroups = { digits: [], ends: [], gaps: [] }
  for (let at = start; groups.digits.length < most; ) {
    let end = at
    while (end - at < 20 && isDigit(text, end)) end += 1
    if (end === at) break
    groups.digits.push(text.slice(at, end))
    groups.ends.push(end)
    let between: string | undefined
    // Most gaps are one space or hyphen.
    const code = text.charCodeAt(end)
    if ((code === 32 || code === 45) && isDigit(text, end + 1)) between = code === 32 ? ' ' : '-'
    else if (code === 44 || code === 59) between = undefined
    else {
      gap.lastIndex = end
      between = gap.exec(text)?.[0]
    }
    if (between === undefined) break
    groups.gaps.push(between)
    at = end + between.length
  }
  return groups
}

export const areGrouped = (groups: NumberGroups, form: readonly number[]): boolean =>
  form.every((length, at) => groups.digits[at]?.length === length)

/** Whether enough digits follow for the shortest card, social security or phone number, with gaps and brackets. */
export function hasManyDigits(text: string, start: number): boolean {
  let digits = 0
  const limit = Math.min(text.length, start + 28)
  for (let at = start, between = 0; at < limit && between < 4; at++) {
    const code = text.charCodeAt(at)
    if (code >= 48 && code <= 57) {
      digits += 1
      if (digits === 7) return true
      between = 0
    } else if (code === 32 || (code > 39 && code < 48 && code !== 44) || code === 10 || code === 13 || code > 127)
      between += 1
    else return false
  }
  return false
}
