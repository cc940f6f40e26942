import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { callUseCase, requirePageAccess } from '#app/page-access.ts'
import { countText } from '#components/frame/count-text.ts'
import { Messages } from '#components/frame/words.tsx'
import { ReceiptList } from '#components/receipts/receipt-list.tsx'
import { Page } from '#components/ui/page.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { app } from '#lib/app-instance.ts'

export const generateMetadata = async (): Promise<Metadata> => ({
  title: (await getTranslations('receipt.own'))('name'),
})

export default async function OwnReceiptsPage() {
  await requirePageAccess('ownReceipts')
  const t = await getTranslations('receipt.own')
  const receipts = await callUseCase(app.receipts.own, { query: { limit: '50' } })
  const { total } = receipts
  return (
    <Messages of={['receipt']}>
      <Page
        width="wide"
        title={t('title', { total, shown: countText(await getTranslations('common'), total) })}
        lead={<p>{t.rich('lead', { link: (text) => <TextLink href="/verify">{text}</TextLink> })}</p>}
      >
        <ReceiptList initial={receipts} />
      </Page>
    </Messages>
  )
}
