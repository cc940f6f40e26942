import { looksLikeAPersonsName, namesACompany } from '#lib/domains/pii/person-names.ts'

const isWordless = /[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff]/g

/**
 * Whether a name identifies a person well enough to search derived values for it: an email address, a name of at least two words, or of at
 * least two characters in a script without spaces. People choose their names: a single word may be any word, and a company is somebody else.
 */
export const identifiesAPerson = (name: string): boolean =>
  name.includes('@') ||
  (!namesACompany(name) && (name.trim().split(/\s+/).length > 1 || (name.match(isWordless)?.length ?? 0) > 1))

/** Whether a name may be redacted in the texts of other authors, which cannot be undone: it must also look like a person's name. */
export const mayBeTakenOut = (name: string): boolean =>
  identifiesAPerson(name) && (name.includes('@') || looksLikeAPersonsName(name))

/** How long a name must be unchanged before the erasure: 30 days, and the longest grace period with a day to spare. */
export const nameHeldFor = 45 * 86_400_000
