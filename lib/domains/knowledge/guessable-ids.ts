const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/i
/** Hashes, and random numbers of 48 bits or more. Rate limits make it impossible to try so many. */
const hex = /[0-9a-f]{12,}/gi
/** A day with a time, such as 20260301093000. */
const date = /^20\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?:[01]\d|2[0-3])[0-5]\d+$/
/** ULID, KSUID, cuid, and the ids that this registry generates. */
const unbroken = /[0-9A-Za-z]{20}/
/** A time in milliseconds: published clients of the open-source registry number their units by it. */
const milliseconds = /(?<!\d)1\d{12}(?!\d)/
/** A part that is a word, a number, or a word and a number. */
const plain = /^(?:[A-Z]?[a-z]*|[A-Z]*)\d*$/
/**
 * Shortest id with `-` or `_` in it that can be random, such as one of nanoid, and how many of its characters must not be plain. One of
 * 100,000 ids of nanoid does not meet this by chance.
 */
const broken = { length: 21, random: 5 }

/** The part of an id of a unit or skill that a client can choose: the text behind `kp:<kind>:`. */
export const chosenPart = (id: string): string => id.slice(id.lastIndexOf(':') + 1)

/**
 * Whether somebody who does not know the id of a unit or skill could find it by guessing. The prefix of an organization is not random:
 * members of other organizations can know it.
 */
export function canBeGuessed(id: string): boolean {
  const chosen = chosenPart(id).replace(/^org_[0-9A-Za-z]{22}_/, '')
  if ([uuid, unbroken, milliseconds].some((form) => form.test(chosen))) return false
  if (chosen.match(hex)?.some((run) => !date.test(run))) return false
  const random = chosen.split(/[-_]/).filter((part) => !plain.test(part))
  return chosen.length < broken.length || random.join('').length < broken.random
}
