import { useTranslations } from 'next-intl'
import { Alert } from '#components/ui/alert.tsx'

/** States that no new content is accepted, because the region of a project or conversation is not available here any more. */
export function OutsideAlert({ of }: { of: 'project' | 'conversation' }) {
  const t = useTranslations('projects.outside')
  return (
    <Alert tone="warning" title={t(`${of}.title`)}>
      <p>{t('why')}</p>
      <p>{t(`${of}.do`)}</p>
    </Alert>
  )
}
