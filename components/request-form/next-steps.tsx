import { useTranslations } from 'next-intl'
import { TextLink } from '#components/ui/text-link.tsx'

/** What happens after the request, and the contact of the organization. `isEmbedded`: links open in a new tab. */
export function NextSteps({ contact, isEmbedded = false }: { contact: string | null; isEmbedded?: boolean }) {
  const t = useTranslations('requestForm.next')
  const apart = isEmbedded ? { target: '_blank', rel: 'noopener' } : {}
  return (
    <section aria-labelledby="next-steps" className="grid gap-3 text-sm">
      <h2 id="next-steps" className="text-base font-medium">
        {t('title')}
      </h2>
      <ol className="grid list-decimal gap-1.5 pl-5">
        <li>{t('confirm')}</li>
        <li>{t('identity')}</li>
        <li>{t('answer')}</li>
      </ol>
      {contact !== null && (
        <p>
          {t.rich('contact', {
            email: () => (
              <TextLink href={`mailto:${contact}`} {...apart}>
                {contact}
              </TextLink>
            ),
          })}
        </p>
      )}
      <p>
        {t.rich('notice', {
          notice: (words) => (
            <TextLink href="/privacy" {...apart}>
              {words}
            </TextLink>
          ),
        })}
      </p>
    </section>
  )
}
