const weights = [7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2]
/** GB 11643: resident identity number of 18 characters, with date of birth and check character. */
export function isChineseId(id: string): boolean {
  const [year, month, day] = [Number(id.slice(6, 10)), Number(id.slice(10, 12)), Number(id.slice(12, 14))]
  if (year < 1850 || year > 2100 || month < 1 || month > 12 || day < 1 || day > 31) return false
  const sum = weights.reduce((total, weight, at) => total + weight * Number(id[at]), 0)
  return '10X98765432'[sum % 11] === id[17]?.toUpperCase()
}
