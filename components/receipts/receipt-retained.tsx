import { useTranslations } from 'next-intl'
import { Section } from '#components/ui/page.tsx'
import { Time } from '#components/ui/time.tsx'
import type { Receipt } from '#lib/kernel/receipt.ts'
import { Folded } from './folded.tsx'
import { ReceiptTable } from './receipt-table.tsx'
import { useReceiptWords } from './receipt-words.tsx'

export function RetainedUntil({ at }: { at: string | null }) {
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
      <ul className="divide-y divide-line border-y border-line">
        {retained.map(({ what, ground, until }) => (
          <li key={what} className="grid gap-x-4 py-1.5 sm:grid-cols-[1fr_max-content]">
            <span>{words.retained(what)}</span>
            <span className="text-sm sm:row-span-2 sm:text-right">
              <span className="text-quiet">{t('retained.until')}: </span>
              <RetainedUntil at={until} />
            </span>
            <span className="text-sm text-quiet">{words.ground(ground)}</span>
          </li>
        ))}
      </ul>
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
