interface RegionWords {
  anywhere: string
  eu: string
  /** With the name of the country in the reader's language. */
  country(country: string): string
}

/** The title of an allowed storage region: null or empty for anywhere, `eu`, or a country of two letters. */
export function regionTitle({ anywhere, eu, country }: RegionWords, locale: string, region: string | null): string {
  if (region === null || region === '') return anywhere
  if (region === 'eu') return eu
  const names = new Intl.DisplayNames([locale], { type: 'region', fallback: 'code' })
  return country(names.of(region.toUpperCase()) ?? region)
}

/** The options of a choice of region: anywhere, the regions of this installation, and the present one. */
export const regionOptions = (words: RegionWords, locale: string, regions: readonly string[], present = '') =>
  [...new Set(['', ...regions, present])].map((value) => ({ value, title: regionTitle(words, locale, value) }))
