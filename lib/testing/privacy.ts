import { type TestApp, testApp } from './app.ts'
import { drain } from './jobs.ts'
import { type Mailbox, mailbox } from './mailbox.ts'
import { passwordEntered, signedIn } from './people.ts'

/** Excludes the scheduled job, which tests run explicitly. */
const except = ['privacy.clock']

/** The application with a mail server, and helpers for tests of privacy requests. */
export async function privacyTest(settings: Record<string, string> = {}, options: Parameters<typeof testApp>[2] = {}) {
  const post: Mailbox = await mailbox()
  const test: TestApp = await testApp(
    { KP_SMTP_URL: post.url, KP_MAIL_FROM: 'KP <kp@example.org>', ...settings },
    undefined,
    options,
  )
  const admin = await signedIn(test, 'admin')
  const clockJob = test.app.jobs.find(({ name }) => name === 'privacy.clock')
  return {
    test,
    post,
    admin,
    file: (cookie: string, body: object) => test.fetch('POST', '/api/privacy/requests', { cookie, body }),
    act: (cookie: string, id: string, verb: string, body?: object) =>
      test.fetch('POST', `/api/privacy/requests/${id}/${verb}`, { cookie, body }),
    read: async (cookie: string, id: string) =>
      (await test.fetch('GET', `/api/privacy/requests/${id}`, { cookie })).json.data,
    /** The admin files a request that came by mail, after entering the password. */
    async fileAsAdmin(body: object) {
      await passwordEntered(test, admin)
      return test.fetch('POST', '/api/admin/privacy/requests', { cookie: admin.cookie, body })
    },
    /** The admin acts on a request after entering the password. */
    async asAdmin(id: string, verb: string, body?: object) {
      await passwordEntered(test, admin)
      return test.fetch('POST', `/api/admin/privacy/requests/${id}/${verb}`, { cookie: admin.cookie, body })
    },
    /** The admin acts on several requests after entering the password. */
    async bulk(body: object) {
      await passwordEntered(test, admin)
      return test.fetch('POST', '/api/admin/privacy/bulk', { cookie: admin.cookie, body })
    },
    adminRead: async (id: string) =>
      (await test.fetch('GET', `/api/admin/privacy/requests/${id}`, { cookie: admin.cookie })).json.data,
    use: (token: string, purpose: string) => test.fetch('POST', '/api/privacy/links/use', { body: { token, purpose } }),
    emailsTo: (email: string) => post.letters.filter(({ to }) => to === email),
    /** The secret of the newest link that was sent to the address. */
    linkTo(email: string, purpose: string): string {
      const texts = post.letters.filter(({ to }) => to === email).map(({ text }) => text)
      const found = texts.flatMap((text) => [...text.matchAll(new RegExp(`/privacy/confirm#${purpose}\\.(\\w+)`, 'g'))])
      return found.at(-1)?.[1] ?? 'no link'
    },
    /** Runs the waiting jobs. */
    work: (except_: string[] = []) => drain(test, { except: [...except, ...except_] }),
    clockJob: async () => clockJob?.execute(test.app.pipeline, {}),
    /** Runs the scheduled job and the jobs that it enqueues. */
    async tick() {
      await clockJob?.execute(test.app.pipeline, {})
      return drain(test, { except })
    },
    async close() {
      await test.close()
      await post.close()
    },
  }
}
export type PrivacyTest = Awaited<ReturnType<typeof privacyTest>>
