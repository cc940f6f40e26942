import { useTranslations } from 'next-intl'
import { Section } from '#components/ui/page.tsx'
import { Time } from '#components/ui/time.tsx'
import type { Receipt } from '#lib/kernel/receipt.ts'
import { Folded } from './folded.tsx'
import { ReceiptTable } from './receipt-table.tsx'
import { useReceiptWords } from './receipt-words.tsx'

function RetainedUntil({ at }: { at: string | null }) {
  const t = useTranslations('receipt.retained')
  return at === null ? t('noEnd') : <Time at={at} isDay />
}

/** What the deletion retains on purpose, and why. */
export function ReceiptRetained({ retained }: Pick<Receipt, 'retained'>) {
  const t = useTranslations('receipt')
  const words = useReceiptWords()
  if (retained.length === 0) return null
  return (
    <Section id="retained" title={t('retained.title')}>
      <ReceiptTable
        columns={[t('what'), t('retained.why'), t('retained.until')]}
        rows={retained.map(({ what, ground, until }) => ({
          key: what,
          cells: [words.retained(what), words.ground(ground), <RetainedUntil key="until" at={until} />],
        }))}
      />
    </Section>
  )
}

/** Copies that the registry can no longer read. */
export function ReceiptPhysical({ physical }: Pick<Receipt, 'physical'>) {
  const t = useTranslations('receipt')
  const words = useReceiptWords()
  if (physical.length === 0) return null
  return (
    <Folded title={t('physical.title')}>
      <p className="text-quiet">{t('physical.lead')}</p>
      <ReceiptTable
        columns={[t('what'), t('retained.until')]}
        rows={physical.map(({ what, until }) => ({
          key: what,
          cells: [words.physical(what), <RetainedUntil key="until" at={until} />],
        }))}
      />
    </Folded>
  )
}
