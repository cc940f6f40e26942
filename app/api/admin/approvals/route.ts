import { app, route } from '#lib/app-instance.ts'

export const GET = route(app.approvals.readSetting)
export const PUT = route(app.approvals.changeSetting)
