"""The types of requests and answers, for annotations. Made by `make docs` from the OpenAPI document."""

# fmt: off
from __future__ import annotations

from touchbase.client.models.cells import CellOut, CellPage, CellState
from touchbase.client.models.clients import (
    ClientChange, ClientDetail, ClientOut, ClientPage, ClientRequest, ClientState, DeletionOut, FieldTypeBody, FormerIdOut,
    IdRotation, LimitsBody, LinkCompaniesByEmail, NewClient, RequireVerificationBody, SettingsBody, StatusSetBody, SuppressOnBody,
)
from touchbase.client.models.companies import (
    ClientCompanyMatch, CompaniesOfClients, CompanyBatch, CompanyBatchCommand, CompanyBatchResponse, CompanyBatchResult,
    CompanyClientMatches, CompanyClients, CompanyMatch, CompanyMatchBy, CompanyMatchItem, CompanyMatchRequest, CompanyMatches,
    CompanyMerge, CompanyPage, CompanyPair, CompanyPairPage, DeletedCompany, DeletedCompanyPage, UndoneCompanies,
)
from touchbase.client.models.company_records import CompanyChange, CompanyOfClient, CompanyRequest, CompanyResponse, NumberedCompanies
from touchbase.client.models.connections import (
    CallsOut, ConnectionChange, ConnectionOut, ConnectionPage, ConnectionRequest, ConnectionSettingsChange, FetchingOut,
    FetchingState, SecretState, SilenceOut, SilencePage, UnverifiedReason, WouldRefuse,
)
from touchbase.client.models.contact_records import ContactChange, ContactOfClient, ContactRequest, ContactResponse, NumberedContacts
from touchbase.client.models.contacts import (
    ClientContactMatch, ContactBatch, ContactBatchCommand, ContactBatchResponse, ContactBatchResult, ContactClientMatches,
    ContactClients, ContactMatch, ContactMatchBy, ContactMatchItem, ContactMatchRequest, ContactMatches, ContactMerge, ContactPage,
    ContactPair, ContactPairPage, ContactsOfClients, DeletedContact, DeletedContactPage, ErasureOut, ErasurePage, ErasureRequestOut,
    ExportedDelivery, ExportedEvent, IdentityOut, PersonExport, SourceOut, StartImport, UndoneContacts,
)
from touchbase.client.models.endpoints import (
    ProgressOut, WebhookAttemptOut, WebhookAttemptPage, WebhookEndpointChange, WebhookEndpointOut, WebhookEndpointPage,
    WebhookEndpointRequest, WebhookEndpointState, WebhookFormat, WebhookKind, WebhookOrdering, WebhookOutcome, WebhookPreviewOut,
    WebhookPreviewRequest, WebhookReplay, WebhookSecretRotation, WebhooksReplayed,
)
from touchbase.client.models.events import EventCause, EventData, EventOrigin, EventPage, EventSamples, EventType, LogEvent
from touchbase.client.models.fields import (
    CustomFieldDefinition, CustomFieldDetail, CustomFieldMerge, CustomFieldPage, CustomFieldUpdate, FieldChangePreview,
    FieldChangeSample, FieldTypePreview, MisfitSample, Misfits, RemovedValues, ValueMerge,
)
from touchbase.client.models.inbox import (
    BodyRemovalReason, BodyRemoved, DeliveryCountOut, DeliveryCounts, DeliveryDetail, DeliveryEvent, DeliveryGroupOut, DeliveryGroups,
    DeliveryOut, DeliveryPage, DeliveryRow, DryRunOut, FoundIn, PersonOut, ProposedConnection, RecordEvent, RecordKind, RefusalCause,
    RefusalOut, RefusalPage, RefusedReplay, RefusedWebhookOut, ReplayOut, ReplayRequest, SearchProgress, UnchangedState,
    UnsearchableCause, UnsearchableOut,
)
from touchbase.client.models.jobs import JobPage
from touchbase.client.models.keys import KeyOut, KeyPage, KeyRequest, KeyRotation, KeyScope, KeyState, NewKeyOut
from touchbase.client.models.messages import Interest, MessagePage, NewMessage
from touchbase.client.models.records import (
    BatchOperation, BatchProblem, BulkChange, BulkFailure, CustomFieldChange, CustomFieldInput, CustomFieldOut, DayOrder,
    DryRunResponse, DuplicateReason, EventSource, ExplainedValueOut, Explanation, ExportFormat, FaultOut, FieldChangeOut,
    FieldPreview, ImportMode, MappingBody, MappingList, MatchError, MergeRequest, MergedFieldOut, OtherColumns, OtherEventOut,
    SearchBody, StoredMappingOut, Structure, SuppressionStatus, Survivorship, TimelineEvent, TimelinePage, ValueChangeOut,
    ValueHistoryPage,
)
from touchbase.client.models.reports import (
    CampaignReport, CampaignRow, ClientCampaignReport, ClientStatusReport, ReportInterval, StatusReport, StatusRow,
)
from touchbase.client.models.revyops import (
    CustomFieldValue, EmailOut, EmailType, InterestedIn, NewEmail, NumberedCompaniesOfClients, NumberedContactsOfClients,
)
from touchbase.client.models.shared import (
    BodyEncoding, Channel, ConnectionSettingsBody, CustomFieldType, DeliveryState, JobOut, JobState, MessageChannel, MessageDirection,
    MessageOut, MessageSource, OnDuplicate, ProblemOut, RawBody, SuppressionKind, SuppressionList, SuppressionOut, SuppressionReason,
    SuppressionSource,
)
from touchbase.client.models.status import SpoolOut, StatusOut
from touchbase.client.models.statuses import (
    FormerName, NewStatus, RecordStatus, RenamePreviewOut, StatusChange, StatusMerge, StatusPage, StatusRole,
)
from touchbase.client.models.suppressions import (
    CheckedAddress, CheckedItem, CheckedItems, ListFormat, NewSuppression, NewSuppressions, SavedSuppression, SavedSuppressions,
    SuppressionCheck, SuppressionFault, SuppressionOutcome, SuppressionPage, WrittenSource,
)

__all__ = [
    "BatchOperation", "BatchProblem", "BodyEncoding", "BodyRemovalReason", "BodyRemoved", "BulkChange", "BulkFailure", "CallsOut",
    "CampaignReport", "CampaignRow", "CellOut", "CellPage", "CellState", "Channel", "CheckedAddress", "CheckedItem", "CheckedItems",
    "ClientCampaignReport", "ClientChange", "ClientCompanyMatch", "ClientContactMatch", "ClientDetail", "ClientOut", "ClientPage",
    "ClientRequest", "ClientState", "ClientStatusReport", "CompaniesOfClients", "CompanyBatch", "CompanyBatchCommand",
    "CompanyBatchResponse", "CompanyBatchResult", "CompanyChange", "CompanyClientMatches", "CompanyClients", "CompanyMatch",
    "CompanyMatchBy", "CompanyMatchItem", "CompanyMatchRequest", "CompanyMatches", "CompanyMerge", "CompanyOfClient", "CompanyPage",
    "CompanyPair", "CompanyPairPage", "CompanyRequest", "CompanyResponse", "ConnectionChange", "ConnectionOut", "ConnectionPage",
    "ConnectionRequest", "ConnectionSettingsBody", "ConnectionSettingsChange", "ContactBatch", "ContactBatchCommand",
    "ContactBatchResponse", "ContactBatchResult", "ContactChange", "ContactClientMatches", "ContactClients", "ContactMatch",
    "ContactMatchBy", "ContactMatchItem", "ContactMatchRequest", "ContactMatches", "ContactMerge", "ContactOfClient", "ContactPage",
    "ContactPair", "ContactPairPage", "ContactRequest", "ContactResponse", "ContactsOfClients", "CustomFieldChange",
    "CustomFieldDefinition", "CustomFieldDetail", "CustomFieldInput", "CustomFieldMerge", "CustomFieldOut", "CustomFieldPage",
    "CustomFieldType", "CustomFieldUpdate", "CustomFieldValue", "DayOrder", "DeletedCompany", "DeletedCompanyPage", "DeletedContact",
    "DeletedContactPage", "DeletionOut", "DeliveryCountOut", "DeliveryCounts", "DeliveryDetail", "DeliveryEvent", "DeliveryGroupOut",
    "DeliveryGroups", "DeliveryOut", "DeliveryPage", "DeliveryRow", "DeliveryState", "DryRunOut", "DryRunResponse", "DuplicateReason",
    "EmailOut", "EmailType", "ErasureOut", "ErasurePage", "ErasureRequestOut", "EventCause", "EventData", "EventOrigin", "EventPage",
    "EventSamples", "EventSource", "EventType", "ExplainedValueOut", "Explanation", "ExportFormat", "ExportedDelivery", "ExportedEvent",
    "FaultOut", "FetchingOut", "FetchingState", "FieldChangeOut", "FieldChangePreview", "FieldChangeSample", "FieldPreview",
    "FieldTypeBody", "FieldTypePreview", "FormerIdOut", "FormerName", "FoundIn", "IdRotation", "IdentityOut", "ImportMode", "Interest",
    "InterestedIn", "JobOut", "JobPage", "JobState", "KeyOut", "KeyPage", "KeyRequest", "KeyRotation", "KeyScope", "KeyState",
    "LimitsBody", "LinkCompaniesByEmail", "ListFormat", "LogEvent", "MappingBody", "MappingList", "MatchError", "MergeRequest",
    "MergedFieldOut", "MessageChannel", "MessageDirection", "MessageOut", "MessagePage", "MessageSource", "MisfitSample", "Misfits",
    "NewClient", "NewEmail", "NewKeyOut", "NewMessage", "NewStatus", "NewSuppression", "NewSuppressions", "NumberedCompanies",
    "NumberedCompaniesOfClients", "NumberedContacts", "NumberedContactsOfClients", "OnDuplicate", "OtherColumns", "OtherEventOut",
    "PersonExport", "PersonOut", "ProblemOut", "ProgressOut", "ProposedConnection", "RawBody", "RecordEvent", "RecordKind",
    "RecordStatus", "RefusalCause", "RefusalOut", "RefusalPage", "RefusedReplay", "RefusedWebhookOut", "RemovedValues",
    "RenamePreviewOut", "ReplayOut", "ReplayRequest", "ReportInterval", "RequireVerificationBody", "SavedSuppression",
    "SavedSuppressions", "SearchBody", "SearchProgress", "SecretState", "SettingsBody", "SilenceOut", "SilencePage", "SourceOut",
    "SpoolOut", "StartImport", "StatusChange", "StatusMerge", "StatusOut", "StatusPage", "StatusReport", "StatusRole", "StatusRow",
    "StatusSetBody", "StoredMappingOut", "Structure", "SuppressOnBody", "SuppressionCheck", "SuppressionFault", "SuppressionKind",
    "SuppressionList", "SuppressionOut", "SuppressionOutcome", "SuppressionPage", "SuppressionReason", "SuppressionSource",
    "SuppressionStatus", "Survivorship", "TimelineEvent", "TimelinePage", "UnchangedState", "UndoneCompanies", "UndoneContacts",
    "UnsearchableCause", "UnsearchableOut", "UnverifiedReason", "ValueChangeOut", "ValueHistoryPage", "ValueMerge", "WebhookAttemptOut",
    "WebhookAttemptPage", "WebhookEndpointChange", "WebhookEndpointOut", "WebhookEndpointPage", "WebhookEndpointRequest",
    "WebhookEndpointState", "WebhookFormat", "WebhookKind", "WebhookOrdering", "WebhookOutcome", "WebhookPreviewOut",
    "WebhookPreviewRequest", "WebhookReplay", "WebhookSecretRotation", "WebhooksReplayed", "WouldRefuse", "WrittenSource",
]
