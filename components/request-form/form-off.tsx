import { useTranslations } from 'next-intl'
import { Alert } from '#components/ui/alert.tsx'
import { TextLink } from '#components/ui/text-link.tsx'

/** Shown while the form is off: how to send a request without it. */
export function FormOff({ contact }: { contact: string | null }) {
  const t = useTranslations('requestForm.off')
  return (
    <Alert tone="info" title={t('title')}>
      <p>
        {contact === null
          ? t('text')
          : t.rich('write', { email: () => <TextLink href={`mailto:${contact}`}>{contact}</TextLink> })}
      </p>
    </Alert>
  )
}
