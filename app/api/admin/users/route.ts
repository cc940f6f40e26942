import { app, route } from '#lib/app-instance.ts'

export const GET = route(app.accounts.users)
export const POST = route(app.accounts.inviteUser)
