import { useTranslations } from 'next-intl'

/** Known codes of stored errors as words; other codes as they are. */
export function useFaultWords() {
  const t = useTranslations('causes')
  return (fault: string | null): string => {
    if (fault === null) return t('noFault')
    return fault === 'unavailable' || fault === 'internal' ? t(`faults.${fault}`) : fault
  }
}
