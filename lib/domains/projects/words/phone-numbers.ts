import { parsePhoneNumberFromString } from 'libphonenumber-js'
import { findPersonalData } from '#lib/domains/pii/personal-data.ts'
import { digitsIn, leastDigits, numbersIn } from '#lib/text/numbers.ts'
import { spokenTexts } from '#lib/text/views.ts'

/**
 * The telephone numbers in a text, as the digits of every form in which somebody may dial or store them: national, international, and
 * without any prefix. A number in national form, whose country is unknown, is compared without its leading zero.
 */
export function phoneNumbersIn(text: string): string[] {
  if (digitsIn(text).length < leastDigits) return []
  const forms = new Set<string>()
  for (const plain of spokenTexts(text))
    for (const { start, end } of findPersonalData(plain, { kinds: ['phone'] })) {
      const written = plain.slice(start, end)
      const longest = [...numbersIn(written)].sort((one, other) => other.digits.length - one.digits.length)[0]
      const digits = longest?.digits ?? digitsIn(written)
      const parsed = parsePhoneNumberFromString(written.replace(/^\s*00/, '+'))
      const known = parsed
        ? [parsed.number, parsed.nationalNumber, parsed.formatNational(), parsed.formatInternational()]
        : [digits.replace(/^0+/, '')]
      for (const form of [digits, ...known]) {
        const bare = digitsIn(form)
        if (bare.length < leastDigits) continue
        forms.add(bare)
        if (!parsed) forms.add(`0${bare}`)
      }
      if (parsed) for (const prefix of ['00', '011']) forms.add(prefix + digitsIn(parsed.number))
    }
  return [...forms]
}
