import { isAlphanumeric, isDigit } from '#lib/domains/pii/character-classes.ts'
import type { SensitiveFinding } from '#lib/domains/pii/findings.ts'
import { cardAmong } from './cards.ts'
import { ipv4At } from './ip-addresses.ts'
import { groupsFrom, hasManyDigits } from './number-groups.ts'
import { nationalAt, type PhoneCue } from './phones.ts'
import { socialAmong } from './social-security.ts'

const pairs = /^(?:\d\d\.){3}\d\d(?!\d)/

/**
 * Whether the number is part of something else: an id, a decimal, an amount with thousands separators. A comma between columns separates
 * numbers.
 */
function isInside(text: string, start: number, end: number, cue: PhoneCue): boolean {
  const before = text.charCodeAt(start - 1)
  if (before === 95 || before === 36) return true
  if (before === 44) return end - start === 3 && isDigit(text, start - 2) && !/^[-.) ]\d/.test(text.slice(end, end + 2))
  if (before !== 46 && before !== 45) return false
  // `Tel.030 …`
  if (cue.end >= 0 && start - cue.end < 2) return false
  return isAlphanumeric(text, start - 2) || (before === 46 && text.charCodeAt(start - 2) !== 46)
}

/**
 * The finding that starts with the number from `start` to `end`: a card, social security number, phone number or IPv4 address. `cue` is
 * the last word before it that announces a phone number.
 */
export function numbersAt(text: string, start: number, end: number, cue: PhoneCue): SensitiveFinding | undefined {
  if (isInside(text, start, end, cue)) return undefined
  if (end - start <= 3 && text.charCodeAt(end) === 46) {
    const ip = ipv4At(text, start)
    // `Tlf. 22.33.44.55`
    if (ip)
      return (
        (cue.end >= 0 && start - cue.end < 4 && pairs.test(text.slice(start, start + 12))
          ? nationalAt(text, start, end - start, cue)
          : undefined) ?? ip
      )
  }
  // Most numbers are isolated and short: a year, an amount, a line of a list.
  if (end - start < 7 && !hasManyDigits(text, start)) return undefined
  const length = end - start
  const mayBeCard = length === 4 || length === 6 || length >= 12
  const mayBeSocial = length === 3 || length === 9
  const groups = mayBeCard || mayBeSocial ? groupsFrom(text, start) : undefined
  const found = groups && (mayBeCard ? cardAmong(text, start, groups) : socialAmong(text, start, groups))
  return found ?? nationalAt(text, start, length, cue)
}
