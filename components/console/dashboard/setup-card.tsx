import { CircleCheck, CircleDashed } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { CodeBlock } from '#components/ui/code-block.tsx'
import { Card } from '#components/ui/page.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import type { Dashboard } from './dashboard-data.ts'
import { EmailTest, StoresTest } from './setup-test.tsx'

type Step = Dashboard['setup'][number]
/** What completes a step: lines for the environment, or a page of the console. */
const lines: Partial<Record<Step['step'], string>> = {
  email: "KP_SMTP_URL=smtps://mail.example.org:465\nKP_MAIL_FROM='Privacy <privacy@example.org>'",
  contact: 'KP_PRIVACY_EMAIL=privacy@example.org',
  backups: 'KP_BACKUP_DAYS=30',
  regions: 'KP_REGIONS=postgresql=eu-central-1@aws,files=de@own,backups=de@own',
  identity_provider:
    'KP_OIDC_ISSUER=https://login.example.org\nKP_OIDC_CLIENT_ID=knowledgepulse\nKP_OIDC_CLIENT_SECRET=…',
}

function SetupStepRow({ step: { step, is_done }, mayManage }: { step: Step; mayManage: boolean }) {
  const t = useTranslations('overview.admin.setup')
  const Icon = is_done ? CircleCheck : CircleDashed
  const code = lines[step]
  return (
    <li>
      <details>
        <summary className="flex min-h-8 cursor-pointer items-center gap-2.5 rounded-small hover:bg-sunken">
          <Icon
            className={is_done ? 'size-4.5 text-green' : 'size-4.5 text-quiet'}
            aria-label={t(is_done ? 'done' : 'missing')}
          />
          <span className="grow">{t(`steps.${step}`)}</span>
          {!is_done && <span className="text-sm text-accent">{t('show')}</span>}
        </summary>
        <div className="grid gap-3 py-2 sm:pl-7">
          <p className="text-sm text-quiet">{t(`instructions.${step}`)}</p>
          {code !== undefined && !is_done && (
            <>
              <CodeBlock code={code} what={t('copyLines')} />
              <p className="text-sm text-quiet">{t('restart')}</p>
            </>
          )}
          {step === 'second_admin' && mayManage && (
            <TextLink href="/admin/users#invite">{t('open.second_admin')}</TextLink>
          )}
          {step === 'email' && mayManage && <EmailTest />}
          {step === 'regions' && <StoresTest />}
        </div>
      </details>
    </li>
  )
}

/** What is missing for a complete installation, with instructions, lines to copy and tests. Absent when nothing is. */
export function SetupCard({ setup, mayManage }: { setup: Dashboard['setup']; mayManage: boolean }) {
  const t = useTranslations('overview.admin.setup')
  const done = setup.filter(({ is_done }) => is_done).length
  if (done === setup.length) return null
  return (
    <Card
      title={t('title')}
      actions={<span className="text-sm text-quiet">{t('progress', { done, total: setup.length })}</span>}
    >
      <ul className="grid gap-1">
        {setup.map((step) => (
          <SetupStepRow key={step.step} step={step} mayManage={mayManage} />
        ))}
      </ul>
    </Card>
  )
}
