import { useTranslations } from 'next-intl'
import { storeRefusals } from '#lib/kernel/store-refusal.ts'

/** Known codes of stored errors and refusals as words; other codes as they are. Needs the messages `causes` and `storeProgress`. */
export function useFaultWords() {
  const t = useTranslations('causes')
  const refusals = useTranslations('storeProgress.refusals')
  return (fault: string | null): string => {
    if (fault === null) return t('noFault')
    const refusal = storeRefusals.find((one) => one === fault)
    if (refusal) return refusals(refusal)
    return fault === 'unavailable' || fault === 'internal' ? t(`faults.${fault}`) : fault
  }
}
