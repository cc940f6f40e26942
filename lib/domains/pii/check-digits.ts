/** ISO 13616: the remainder by 97 of the number that the letters stand for is 1. */
export function isIban(written: string): boolean {
  const iban = written.replaceAll(' ', '')
  if (!/^[A-Z]{2}\d{2}[A-Z0-9]{11,30}$/.test(iban)) return false
  const digits = [...iban.slice(4), ...iban.slice(0, 4)].map((sign) => Number.parseInt(sign, 36)).join('')
  let rest = 0
  for (const digit of digits) rest = (rest * 10 + Number(digit)) % 97
  return rest === 1
}

/** ISO/IEC 7812, Luhn. */
export function isCardNumber(written: string): boolean {
  const digits = written.replace(/\D/g, '')
  if (digits.length < 13 || digits.length > 19) return false
  let sum = 0
  for (const [at, digit] of [...digits].reverse().entries()) {
    const value = Number(digit) * (at % 2 === 1 ? 2 : 1)
    sum += value > 9 ? value - 9 : value
  }
  return sum % 10 === 0
}

const weights = [7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2]
/** GB 11643: resident identity number of 18 signs with its date of birth and its check sign. */
export function isChineseId(id: string): boolean {
  const [year, month, day] = [Number(id.slice(6, 10)), Number(id.slice(10, 12)), Number(id.slice(12, 14))]
  if (year < 1850 || year > 2100 || month < 1 || month > 12 || day < 1 || day > 31) return false
  const sum = weights.reduce((total, weight, at) => total + weight * Number(id[at]), 0)
  return '10X98765432'[sum % 11] === id[17]?.toUpperCase()
}
