import { useTranslations } from 'next-intl'

/** A period in words; on the server and in the browser alike. */
export function usePeriodWords() {
  const t = useTranslations('retention')
  return (days: number | null): string => (days === null ? t('forEver') : t('period', { days }))
}
