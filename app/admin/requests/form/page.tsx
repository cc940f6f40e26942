import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { callUseCase, requirePageAccess } from '#app/page-access.ts'
import { Messages } from '#components/frame/words.tsx'
import { FormSettings } from '#components/request-form/form-settings.tsx'
import { Page } from '#components/ui/page.tsx'
import { app } from '#lib/app-instance.ts'
import { publicUrl } from '#lib/config/env.ts'

export const generateMetadata = async (): Promise<Metadata> => ({
  title: (await getTranslations('formSettings'))('title'),
})

export default async function FormSettingsPage() {
  await requirePageAccess('formSettings')
  const [t, queue, initial] = await Promise.all([
    getTranslations('formSettings'),
    getTranslations('queue'),
    callUseCase(app.settings.read),
  ])
  return (
    <Messages of={['formSettings']}>
      <Page
        title={t('title')}
        breadcrumbs={[{ href: '/admin/requests', title: queue('name') }]}
        lead={<p>{t('lead')}</p>}
      >
        <FormSettings initial={initial} origin={publicUrl(app.env)} />
      </Page>
    </Messages>
  )
}
