import { useLocale, useTranslations } from 'next-intl'

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

/** The titles of regions in the reader's language. */
export function useRegionTitle(): (region: string | null) => string {
  const locale = useLocale()
  const t = useTranslations('common.regions')
  const words = { anywhere: t('anywhere'), eu: t('eu'), country: (country: string) => t('country', { country }) }
  return (region) => regionTitle(words, locale, region)
}
