import { useTranslations } from 'next-intl'

/** A period in words; works on the server and in the browser. */
export function usePeriodWords() {
  const t = useTranslations('retention')
  return (days: number | null): string => (days === null ? t('forEver') : t('period', { days }))
}
