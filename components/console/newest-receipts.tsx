import { useTranslations } from 'next-intl'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import type { Overview } from './overview.ts'

/** The newest erasure receipts. */
export function NewestReceipts({ receipts }: Pick<Overview, 'receipts'>) {
  const t = useTranslations('overview.receipts')
  const kinds = useTranslations('receipt.kinds')
  return (
    <>
      <ul className="divide-y divide-line border-y border-line">
        {receipts.map(({ receipt_id, deleted_id, deleted_at, kind, signed_at }) => (
          <li key={receipt_id} className="flex flex-wrap items-baseline gap-x-4 py-2.5">
            <TextLink href={`/receipts/${receipt_id}`} title={deleted_id} className="grow">
              {kinds(kind)}
            </TextLink>
            <span className="text-sm text-quiet">
              {signed_at === null && <>{t('unsigned')} · </>}
              <Time at={deleted_at} show="relative" />
            </span>
          </li>
        ))}
      </ul>
      <p>
        <TextLink href="/settings/privacy/receipts">{t('all')}</TextLink>
      </p>
    </>
  )
}
