import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { personForFrame } from '#app/page-access.ts'
import { ForgottenForm } from '#components/accounts/forgotten-form.tsx'
import { Messages } from '#components/frame/words.tsx'
import { Page } from '#components/ui/page.tsx'
import { TextLink } from '#components/ui/text-link.tsx'

export const generateMetadata = async (): Promise<Metadata> => ({
  title: (await getTranslations('password.forgotten'))('title'),
})

export default async function ForgottenPage() {
  const [t, person] = await Promise.all([getTranslations('password.forgotten'), personForFrame()])
  return (
    <Messages of={['password']}>
      <Page width="narrow" title={t('title')} lead={<p>{t('lead')}</p>}>
        <ForgottenForm email={person?.email} />
        {!person && (
          <p className="text-sm">
            <TextLink href="/sign-in">{t('back')}</TextLink>
          </p>
        )}
      </Page>
    </Messages>
  )
}
