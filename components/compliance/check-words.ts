import en from '#messages/en.ts'

const checks = en.compliance.of
const words = en.compliance.words
const times = en.compliance.times
type CheckKey = keyof typeof checks
type WordKey = keyof typeof words
type TimeKey = keyof typeof times

/** The message key of a check: next-intl nests keys at dots, so dots become underscores. Undefined if there is no translation. */
export function checkKeyOf(name: string): CheckKey | undefined {
  const key = name.replaceAll('.', '_')
  return isCheck(key) ? key : undefined
}
const isCheck = (key: string): key is CheckKey => Object.hasOwn(checks, key)
/** Whether a fact is a known word that can be translated. */
export const isWord = (text: string): text is WordKey => Object.hasOwn(words, text)
export const isTime = (name: string): name is TimeKey => Object.hasOwn(times, name)
