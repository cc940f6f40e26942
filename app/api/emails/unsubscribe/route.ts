import { app, route } from '#lib/app-instance.ts'

export const GET = route(app.accounts.readUnsubscription)
export const POST = route(app.accounts.unsubscribe)
