import { useTranslations } from 'next-intl'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import type { Overview } from './overview.ts'

/** The newest erasure receipts. */
export function NewestReceipts({ receipts }: Pick<Overview, 'receipts'>) {
  const t = useTranslations('overview.receipts')
  const kinds = useTranslations('receipt.kinds')
  if (receipts.length === 0) return <p className="text-quiet">{t('none')}</p>
  return (
    <>
      <ul className="divide-y divide-line border-y border-line">
        {receipts.map(({ receipt_id, deleted_id, deleted_at, kind, signed_at }) => (
          <li key={receipt_id} className="flex flex-wrap items-baseline gap-x-4 py-2.5">
            <TextLink href={`/receipts/${receipt_id}`} className="grow [overflow-wrap:anywhere]">
              {kinds(kind)} {deleted_id}
            </TextLink>
            <span className="text-sm text-quiet">
              {signed_at === null && <>{t('unsigned')} · </>}
              <Time at={deleted_at} />
            </span>
          </li>
        ))}
      </ul>
      <p className="flex flex-wrap gap-x-6 gap-y-1">
        <TextLink href="/settings/privacy/receipts">{t('all')}</TextLink>
        <TextLink href="/verify">{t('verify')}</TextLink>
      </p>
    </>
  )
}
