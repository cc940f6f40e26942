import type { Metadata } from 'next'
import { useTranslations } from 'next-intl'
import { getTranslations } from 'next-intl/server'
import { ButtonLink } from '#components/ui/button.tsx'
import { Page } from '#components/ui/page.tsx'

export const generateMetadata = async (): Promise<Metadata> => ({ title: (await getTranslations('notFound'))('title') })

export default function NotFound() {
  const t = useTranslations('notFound')
  return (
    <Page width="narrow" title={t('title')} lead={<p>{t('text')}</p>}>
      <p>
        <ButtonLink href="/" tone="plain">
          {t('home')}
        </ButtonLink>
      </p>
    </Page>
  )
}
