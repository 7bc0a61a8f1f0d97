Feature: NAME

  Background:
    Given a 4.18.1 cluster
    And the feature set "DevPreviewNoUpgrade"
    And release 4.18.5 exists

  Scenario: An update completes
    When I ask for published insights
    And I update to 4.18.5
    Then within 5 minutes ClusterVersion condition Progressing is True with message matching /^Working towards 4\.18\.5/
    And within 1 minute the insight about ClusterVersion/version has condition Updating True
    And within 3 hours ClusterVersion condition Progressing is False
    And ClusterVersion field "status.history[0].state" is "Completed"
