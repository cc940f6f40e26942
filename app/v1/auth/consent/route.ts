import { app, route } from '#lib/app-instance.ts'

export const POST = route(app.agents.giveConsent)
export const DELETE = route(app.agents.withdrawConsent)
