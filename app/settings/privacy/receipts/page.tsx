import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { callUseCase, requirePageAccess } from '#app/page-access.ts'
import { countText } from '#components/frame/count-text.ts'
import { mayOpen, pageNamed } from '#components/frame/pages.ts'
import { Messages } from '#components/frame/words.tsx'
import { ReceiptList } from '#components/receipts/receipt-list.tsx'
import { PublicKeysLink } from '#components/receipts/receipt-view.tsx'
import { ButtonLink } from '#components/ui/button.tsx'
import { Page } from '#components/ui/page.tsx'
import { app } from '#lib/app-instance.ts'

export const generateMetadata = async (): Promise<Metadata> => ({
  title: (await getTranslations('receipt.own'))('name'),
})

export default async function OwnReceiptsPage() {
  const { role } = await requirePageAccess('ownReceipts')
  const [t, pages, common] = await Promise.all([
    getTranslations('receipt.own'),
    getTranslations('pages'),
    getTranslations('common'),
  ])
  const receipts = await callUseCase(app.receipts.own, { query: { limit: '50' } })
  return (
    <Messages of={['receipt']}>
      <Page
        width="wide"
        title={t('name')}
        count={countText(common, receipts.total)}
        actions={
          <>
            {mayOpen(pageNamed('erasures'), role) && (
              <ButtonLink tone="plain" href="/admin/erasures">
                {pages('erasures')}
              </ButtonLink>
            )}
            <PublicKeysLink />
            <ButtonLink tone="plain" href="/verify">
              {t('verify')}
            </ButtonLink>
          </>
        }
      >
        <ReceiptList initial={receipts} />
      </Page>
    </Messages>
  )
}
