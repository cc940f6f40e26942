import { app, route } from '#lib/app-instance.ts'

export const DELETE = route(app.accounts.withdrawInvitation)
export const POST = route(app.accounts.resendInvitation)
