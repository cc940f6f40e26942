import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { callUseCase, requirePageAccess } from '#app/page-access.ts'
import { Messages } from '#components/frame/words.tsx'
import { RequirementPanel } from '#components/second-factors/requirement-panel.tsx'
import { Page, Section } from '#components/ui/page.tsx'
import { app } from '#lib/app-instance.ts'

export const generateMetadata = async (): Promise<Metadata> => ({ title: (await getTranslations('security'))('name') })

export default async function SecurityPage() {
  await requirePageAccess('security')
  const [t, requirement] = await Promise.all([getTranslations('security'), callUseCase(app.accounts.factorRequirement)])
  return (
    <Messages of={['security']}>
      <Page title={t('name')}>
        <Section id="factors" title={t('factors.title')} lead={t('factors.lead')}>
          <RequirementPanel initial={requirement.data} />
        </Section>
      </Page>
    </Messages>
  )
}
