import { useTranslations } from 'next-intl'
import { ButtonLink } from '#components/ui/button.tsx'
import { Page } from '#components/ui/page.tsx'

/** The subject of the page is erased. Only its former owner sees this page with the receipt id; everybody else gets a 404. */
export function GoneNotice({ receiptId }: { receiptId: string }) {
  const t = useTranslations('common.gone')
  return (
    <Page title={t('title')} lead={<p>{t('text')}</p>}>
      <p>
        <ButtonLink href={`/receipts/${receiptId}`}>{t('receipt')}</ButtonLink>
      </p>
    </Page>
  )
}
