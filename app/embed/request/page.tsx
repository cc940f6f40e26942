import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { callUseCase } from '#app/page-access.ts'
import { Messages } from '#components/frame/words.tsx'
import { EmbedHeight } from '#components/request-form/embed-height.tsx'
import { FormOff } from '#components/request-form/form-off.tsx'
import { NextSteps } from '#components/request-form/next-steps.tsx'
import { RequestForm } from '#components/request-form/request-form.tsx'
import { Page } from '#components/ui/page.tsx'
import { app } from '#lib/app-instance.ts'

export const generateMetadata = async (): Promise<Metadata> => ({
  title: (await getTranslations('requestForm'))('title'),
  robots: { index: false },
})

/** The form without the frame of the console, for websites that an admin listed. It needs no cookies. */
export default async function EmbeddedRequestPage() {
  const [t, form] = await Promise.all([getTranslations('requestForm'), callUseCase(app.requests.readForm)])
  const { is_on, privacy_email } = form.data
  return (
    <Messages of={['requestForm']}>
      <EmbedHeight />
      <Page width="narrow" title={t('title')}>
        {is_on ? (
          <>
            <RequestForm />
            <NextSteps contact={privacy_email} isEmbedded />
          </>
        ) : (
          <FormOff contact={privacy_email} />
        )}
      </Page>
    </Messages>
  )
}
