import { useTranslations } from 'next-intl'
import { ButtonLink } from '#components/ui/button.tsx'
import { Page } from '#components/ui/page.tsx'

/** What a page was about is erased. Its former owner alone gets here, with the receipt's id; for everybody else there never was anything. */
export function Gone({ receiptId }: { receiptId: string }) {
  const t = useTranslations('common.gone')
  return (
    <Page title={t('title')} lead={<p>{t('text')}</p>}>
      <p>
        <ButtonLink href={`/receipts/${receiptId}`}>{t('receipt')}</ButtonLink>
      </p>
    </Page>
  )
}
