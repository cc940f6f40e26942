import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { callUseCase, requirePageAccess } from '#app/page-access.ts'
import { ApprovalPanel } from '#components/approvals/approval-panel.tsx'
import { ProposalList } from '#components/approvals/proposal-list.tsx'
import { Messages } from '#components/frame/words.tsx'
import { Page, Section } from '#components/ui/page.tsx'
import { app } from '#lib/app-instance.ts'

export const generateMetadata = async (): Promise<Metadata> => ({ title: (await getTranslations('approvals'))('name') })

export default async function ApprovalsPage() {
  await requirePageAccess('approvals')
  const [t, setting, proposals] = await Promise.all([
    getTranslations('approvals'),
    callUseCase(app.approvals.readSetting),
    callUseCase(app.approvals.list),
  ])
  return (
    <Messages of={['approvals', 'holds', 'roles', 'security', 'tokens']}>
      <Page title={t('name')} lead={<p>{t('lead')}</p>}>
        <ProposalList initial={proposals} />
        <Section id="setting" title={t('setting.title')}>
          <ApprovalPanel initial={setting} />
        </Section>
      </Page>
    </Messages>
  )
}
