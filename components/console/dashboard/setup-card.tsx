import { CircleCheck, CircleDashed } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { Card } from '#components/ui/page.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import type { Dashboard } from './dashboard-data.ts'

type Step = Dashboard['setup'][number]
/** The page or the environment variable that completes a step. */
const means = {
  email: { variable: 'KP_SMTP_URL' },
  contact: { variable: 'KP_PRIVACY_EMAIL' },
  backups: { variable: 'KP_BACKUP_DAYS' },
  regions: { variable: 'KP_REGIONS' },
  second_admin: { page: '/admin/users' },
  identity_provider: { variable: 'KP_OIDC_ISSUER' },
} as const satisfies Record<Step['step'], { page: string } | { variable: string }>

function SetupStepRow({ step: { step, is_done }, mayManage }: { step: Step; mayManage: boolean }) {
  const t = useTranslations('overview.admin.setup')
  const mean = means[step]
  const Icon = is_done ? CircleCheck : CircleDashed
  return (
    <li className="flex items-center gap-2.5">
      <Icon
        className={is_done ? 'size-4.5 text-green' : 'size-4.5 text-quiet'}
        aria-label={t(is_done ? 'done' : 'missing')}
      />
      <span className="grow">
        {'page' in mean && mayManage ? <TextLink href={mean.page}>{t(`steps.${step}`)}</TextLink> : t(`steps.${step}`)}
      </span>
      {'variable' in mean && !is_done && <code className="font-mono text-[0.8125rem] text-quiet">{mean.variable}</code>}
    </li>
  )
}

/** What is missing for a complete installation. Absent when nothing is. */
export function SetupCard({ setup, mayManage }: { setup: Dashboard['setup']; mayManage: boolean }) {
  const t = useTranslations('overview.admin.setup')
  const done = setup.filter(({ is_done }) => is_done).length
  if (done === setup.length) return null
  return (
    <Card
      title={t('title')}
      actions={<span className="text-sm text-quiet">{t('progress', { done, total: setup.length })}</span>}
    >
      <ul className="grid gap-2">
        {setup.map((step) => (
          <SetupStepRow key={step.step} step={step} mayManage={mayManage} />
        ))}
      </ul>
    </Card>
  )
}
